import type { ServerResponse } from 'node:http'
import { nameRoute } from '../../lib/contract/route-name'
import '../../lib/log/telemetry' // the type of globalThis.metrics

const disconnected = 499 // as in nginx: the client did not wait for the response

/** Counts a request when its response has ended. `url`: as the client sent it. */
export function measureRequest(url: string, response: ServerResponse): void {
  const startedAt = performance.now()

  response.once('close', () => {
    const status = response.headersSent ? response.statusCode : disconnected
    const seconds = (performance.now() - startedAt) / 1_000
    globalThis.metrics?.countRequest(nameRoute(url), status, seconds)
  })
}
