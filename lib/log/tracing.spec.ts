import { createServer } from 'node:http'
import { context, trace } from '@opentelemetry/api'
import { afterEach, expect, test, vi } from 'vitest'
import { listen } from '../../e2e/support/servers/listen'
import { log } from './log'
import { startTracing } from './tracing'

afterEach(() => {
  trace.disable()
  context.disable()
  globalThis.tracing = undefined
  vi.restoreAllMocks()
  vi.unstubAllEnvs()
})

test('warns once if the receiver refuses spans, without text of the receiver', async () => {
  const receiver = createServer((_, response) => {
    response.writeHead(401, 'No secret-1').end('secret-2')
  })
  const { url, stop } = await listen(receiver)
  vi.stubEnv('OTEL_EXPORTER_OTLP_ENDPOINT', url)
  vi.stubEnv('OTEL_EXPORTER_OTLP_HEADERS', 'authorization=secret-3')
  vi.stubEnv('OTEL_BSP_SCHEDULE_DELAY', '10')
  const warnings = vi.spyOn(log, 'warn')
  startTracing()
  const endSpan = () => trace.getTracer('test').startSpan('name').end()

  endSpan()
  await expect.poll(() => warnings.mock.calls.length).toBe(1)
  endSpan()
  await globalThis.tracing!.flush()
  stop()

  const cause = { name: 'OTLPExporterError', at: expect.any(String) }
  expect(warnings.mock.calls).toEqual([
    [{ status: 401, cause }, 'spans could not be exported'],
  ])
  expect(JSON.stringify(warnings.mock.calls)).not.toContain('secret')
})
