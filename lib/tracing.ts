import { setTimeout as sleep } from 'node:timers/promises'
import type { Attributes } from '@opentelemetry/api'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { defaultResource, detectResources, envDetector, resourceFromAttributes } from '@opentelemetry/resources'
import { BatchSpanProcessor, NodeTracerProvider, type ReadableSpan } from '@opentelemetry/sdk-trace-node'

// Next.js writes whole addresses into its spans, and with them a code or a token. What leaves is on this list.
const allowed = new Set([
  'http.method',
  'http.route',
  'http.status_code',
  'net.peer.name',
  'net.peer.port',
  'next.route',
  'next.rsc',
  'next.segment',
  'next.span_type',
  'operation.name',
])

const flushMs = 2_000

declare global {
  var flushSpans: (() => Promise<void>) | undefined
}

/** Sends the spans of Next.js to where the standard OTEL_EXPORTER_OTLP_… settings say, without anything that came from a client. `flushSpans` sends those that wait for their batch. */
export function startTracing(): void {
  const exporter = new OTLPTraceExporter()
  const filtered = {
    export: (spans: ReadableSpan[], done: Parameters<typeof exporter.export>[1]) =>
      exporter.export(spans.map(withoutSecrets), done),
    forceFlush: () => exporter.forceFlush(),
    shutdown: () => exporter.shutdown(),
  }
  const resource = defaultResource()
    .merge(resourceFromAttributes({ 'service.name': 'authentication-completion' }))
    .merge(detectResources({ detectors: [envDetector] })) // OTEL_SERVICE_NAME, OTEL_RESOURCE_ATTRIBUTES
  const provider = new NodeTracerProvider({ resource, spanProcessors: [new BatchSpanProcessor(filtered)] })
  provider.register({ propagator: null }) // a trace begins here: anybody may send a `traceparent`
  globalThis.flushSpans = () => Promise.race([provider.forceFlush().catch(() => {}), sleep(flushMs)])
}

/** A span under a name of ours, with the attributes of the list, and of an exception its type alone: a message may quote anything. */
function withoutSecrets(span: ReadableSpan): ReadableSpan {
  const { message: _, ...status } = span.status
  const events = span.events.map((event) => ({
    ...event,
    name: 'exception',
    attributes: pick(event.attributes ?? {}, new Set(['exception.type'])),
  }))
  return Object.create(span, {
    name: { value: nameOf(span) },
    attributes: { value: pick(span.attributes, allowed) },
    events: { value: events },
    status: { value: status },
  })
}

/** Its kind, method and route: Next.js puts the address into the names of some. */
function nameOf({ attributes, name }: ReadableSpan): string {
  const { 'next.span_type': type, 'http.method': method, 'http.route': httpRoute, 'next.route': nextRoute } = attributes
  const parts = [type === 'BaseServer.handleRequest' ? undefined : type, method, httpRoute ?? nextRoute].filter(Boolean)
  return parts.length > 0 ? parts.join(' ') : name.split(/[?#\s]/)[0]!
}

function pick(attributes: Attributes, names: Set<string>): Attributes {
  return Object.fromEntries(Object.entries(attributes).filter(([name]) => names.has(name)))
}
