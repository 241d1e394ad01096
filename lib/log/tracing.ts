import {
  type Attributes,
  type Span,
  SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import {
  BatchSpanProcessor,
  NodeTracerProvider,
  type ReadableSpan,
} from '@opentelemetry/sdk-trace-node'
import { flushInTime, readResource, warnOnce } from './export'
import type { Tracing } from './telemetry'

// The only attributes that are exported. Others can contain full URLs with a code or a
// token.
const exportedAttributes =
  /^(http\.(method|route|status_code)|net\.peer\.(name|port)|next\.(route|rsc|segment|span_type)|operation\.name|db\.(operation\.name|system\.name))$/

/** Exports spans with the settings OTEL_EXPORTER_OTLP_…. Defines `globalThis.tracing`. */
export function startTracing(): void {
  const spanProcessors = [new BatchSpanProcessor(new FilteringExporter())]
  const provider = new NodeTracerProvider({ resource: readResource(), spanProcessors })

  // Every trace starts in this service. A `traceparent` is ignored, because any client
  // could send one.
  provider.register({ propagator: null })
  const tracer = provider.getTracer('authentication-completion')

  globalThis.tracing = {
    flush: () => flushInTime(provider),
    readTraceId: () => trace.getActiveSpan()?.spanContext().traceId,
    inSpan: (span, work) => {
      // such as a look at the outbox every 15 seconds
      if (!trace.getActiveSpan()) return work()
      return tracer.startActiveSpan(span.name, describeSpan(span), (started) =>
        endAfter(started, work),
      )
    },
  }
}

function describeSpan({ name, operation }: Parameters<Tracing['inSpan']>[0]) {
  if (name !== 'database') return { kind: SpanKind.INTERNAL }

  const attributes = {
    'db.system.name': 'postgresql',
    ...(operation && { 'db.operation.name': operation }),
  }
  return { kind: SpanKind.CLIENT, attributes }
}

async function endAfter<Result>(
  span: Span,
  work: () => Promise<Result>,
): Promise<Result> {
  try {
    return await work()
  } catch (error) {
    span.setStatus({ code: SpanStatusCode.ERROR })
    throw error
  } finally {
    span.end()
  }
}

class FilteringExporter extends OTLPTraceExporter {
  readonly #warn = warnOnce('spans could not be exported')

  override export(
    spans: ReadableSpan[],
    done: Parameters<OTLPTraceExporter['export']>[1],
  ): void {
    super.export(spans.map(withoutSecrets), (result) => {
      if (result.error) this.#warn(result.error)
      done(result)
    })
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
