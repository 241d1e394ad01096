import { setTimeout as sleep } from 'node:timers/promises'
import type { Attributes } from '@opentelemetry/api'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import {
  defaultResource,
  detectResources,
  envDetector,
  resourceFromAttributes,
} from '@opentelemetry/resources'
import {
  BatchSpanProcessor,
  NodeTracerProvider,
  type ReadableSpan,
} from '@opentelemetry/sdk-trace-node'
import { describeCause, log } from './log'
import { withoutRequestId } from './request-context'

// The only attributes that are exported. Others can contain full URLs with a code or a
// token.
const exportedAttributes =
  /^(http\.(method|route|status_code)|net\.peer\.(name|port)|next\.(route|rsc|segment|span_type)|operation\.name)$/

const flushMs = 2_000

declare global {
  var flushSpans: (() => Promise<void>) | undefined
}

/**
 * Exports spans with the settings OTEL_EXPORTER_OTLP_…. Defines `flushSpans`, which
 * exports queued spans at once.
 */
export function startTracing(): void {
  const resource = defaultResource()
    .merge(resourceFromAttributes({ 'service.name': 'authentication-completion' }))
    // OTEL_SERVICE_NAME, OTEL_RESOURCE_ATTRIBUTES
    .merge(detectResources({ detectors: [envDetector] }))

  const spanProcessors = [new BatchSpanProcessor(new FilteringExporter())]
  const provider = new NodeTracerProvider({ resource, spanProcessors })

  // Every trace starts in this service. A `traceparent` is ignored, because any client
  // could send one.
  provider.register({ propagator: null })
  globalThis.flushSpans = () =>
    Promise.race([provider.forceFlush().catch(() => {}), sleep(flushMs)])
}

class FilteringExporter extends OTLPTraceExporter {
  #hasWarned = false

  override export(
    spans: ReadableSpan[],
    done: Parameters<OTLPTraceExporter['export']>[1],
  ): void {
    super.export(spans.map(withoutSecrets), (result) => {
      if (result.error) this.#warnOnce(result.error)
      done(result)
    })
  }

  /** Warns here, because OpenTelemetry ignores failures between two flushes. */
  #warnOnce(error: Error & { code?: unknown }): void {
    if (this.#hasWarned) return

    this.#hasWarned = true
    const { code } = error
    const status = typeof code === 'number' ? { status: code } : {}
    const line = { ...status, cause: describeCause(error) }
    withoutRequestId(() => log.warn(line, 'spans could not be exported'))
  }
}

/**
 * Returns a span without possibly secret parts: its original name (possibly a URL), most
 * attributes, and messages.
 */
function withoutSecrets(span: ReadableSpan): ReadableSpan {
  const { message: _, ...status } = span.status
  const events = span.events.map((event) => ({
    ...event,
    name: 'exception',
    attributes: pick(event.attributes ?? {}, /^exception\.type$/),
  }))

  return Object.create(span, {
    name: { value: composeName(span) },
    attributes: { value: pick(span.attributes, exportedAttributes) },
    events: { value: events },
    status: { value: status },
  })
}

function composeName({ attributes, name }: ReadableSpan): string {
  const {
    'next.span_type': type,
    'http.method': method,
    'http.route': httpRoute,
    'next.route': nextRoute,
  } = attributes

  const parts = [
    type === 'BaseServer.handleRequest' ? undefined : type,
    method,
    httpRoute ?? nextRoute,
  ].filter(Boolean)

  return parts.length > 0 ? parts.join(' ') : name.split(/[?#\s]/)[0]!
}

function pick(attributes: Attributes, names: RegExp): Attributes {
  return Object.fromEntries(
    Object.entries(attributes).filter(([name]) => names.test(name)),
  )
}
