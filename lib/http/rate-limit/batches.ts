import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'

const longestWaitMs = 50 // more than a call to Redis takes under load

/**
 * Batches calls: those made while an earlier one is under way start together once it ends, in one turn of the event loop, so that
 * an HTTP client that pipelines sends them as one request. No call waits longer than 50 ms for another.
 */
export function inBatches<Parameters extends unknown[], Result>(
  call: (...parameters: Parameters) => Promise<Result>,
): (...parameters: Parameters) => Promise<Result> {
  let underWay: Promise<unknown> = Promise.resolve()
  return async (...parameters) => {
    const earlier = underWay
    await earlier
    const result = call(...parameters)
    if (underWay === earlier)
      underWay = Promise.race([result.catch(() => {}), sleep(longestWaitMs)]).then(() => nextTurn())
    return result
  }
}
