import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'

const maxWaitMs = 50 // longer than a call to Redis takes under load

/**
 * Batches calls: those made while a call is in flight start together once it ends, in one turn of
 * the event loop, so that an HTTP client with pipelining sends them as one request. No call waits
 * longer than 50 ms.
 */
export function inBatches<Parameters extends unknown[], Result>(
  call: (...parameters: Parameters) => Promise<Result>,
): (...parameters: Parameters) => Promise<Result> {
  let inFlight: Promise<unknown> = Promise.resolve()
  return async (...parameters) => {
    const earlier = inFlight
    await earlier
    const result = call(...parameters)
    if (inFlight === earlier) inFlight = Promise.race([result.catch(() => {}), sleep(maxWaitMs)]).then(() => nextTurn())
    return result
  }
}
