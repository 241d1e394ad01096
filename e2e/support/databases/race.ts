import { setTimeout as sleep } from 'node:timers/promises'

/** The number of rounds of a race. CI runs 30. */
export const rounds = Number(process.env.ROUNDS ?? 30)

export type Round = {
  /** Requests that race against `end`. Each returns whether it succeeded. */
  contenders: (() => Promise<boolean>)[]
  /** Ends the sessions or codes that the contenders need. */
  end: () => Promise<unknown>
  /** Checks the result after the contenders and `end`. */
  check: () => Promise<unknown>
}

/** The numbers of rounds in which all, some or none of the contenders succeeded. */
export type Tally = { all: number; some: number; none: number }

const width = 3 // the number of concurrent rounds
const maxSpreadMs = 40 // so that the waits can't grow without limit

/**
 * Runs `count` rounds. If most contenders of a round succeed, the next round starts them
 * later, otherwise earlier. If only some succeed, it starts them closer together,
 * otherwise further apart. So `end` takes effect between contenders in about half of the
 * rounds on any machine.
 */
export async function race(
  prepare: (index: number) => Promise<Round>,
  count = rounds,
): Promise<Tally> {
  const tally: Tally = { all: 0, some: 0, none: 0 }
  let delayMs = 0 // the delay of the contenders, or of `end` if it is negative
  let spreadMs = 8
  const run = async (index: number) => {
    const { contenders, end, check } = await prepare(index)
    const [contendersMs, endMs, withinMs] = [
      Math.max(0, delayMs),
      Math.max(0, -delayMs),
      spreadMs,
    ]
    const contend = async (contender: () => Promise<boolean>) => {
      await sleep(contendersMs + Math.random() * withinMs)
      return contender()
    }
    const [results] = await Promise.all([
      Promise.all(contenders.map(contend)),
      sleep(endMs).then(end),
    ])
    const share = results.filter(Boolean).length / results.length
    const outcome = share === 1 ? 'all' : share === 0 ? 'none' : 'some'
    tally[outcome]++
    delayMs += (share - 0.5) * spreadMs
    spreadMs = Math.min(
      maxSpreadMs,
      Math.max(2, outcome === 'some' ? spreadMs / 1.2 : spreadMs * 1.2),
    )
    await check()
  }
  let next = 0
  const lane = async () => {
    while (next < count) await run(next++)
  }
  await Promise.all(Array.from({ length: width }, lane))
  return tally
}
