import { setTimeout as sleep } from 'node:timers/promises'

/** How many rounds a race has. The gate runs 30. */
export const rounds = Number(process.env.ROUNDS ?? 30)

export type Round = {
  /** Requests that race against `end`. Each returns whether it succeeded. */
  contenders: (() => Promise<boolean>)[]
  /** Ends what the contenders need. */
  end: () => Promise<unknown>
  /** Runs after all of them. */
  check: () => Promise<unknown>
}

/** In how many rounds all contenders succeeded, some did, or none did. */
export type Tally = { all: number; some: number; none: number }

const width = 3 // rounds at a time
const maxSpreadMs = 40 // without it, rounds that alternate between extremes would wait for ever

/**
 * Runs many rounds, and steers when the contenders start: later after a round in which most of them
 * succeeded, else earlier; closer together after a round in which only some did, else further
 * apart. So `end` takes effect between contenders in about half of the rounds, on any machine.
 */
export async function race(prepare: (index: number) => Promise<Round>): Promise<Tally> {
  const tally: Tally = { all: 0, some: 0, none: 0 }
  let delayMs = 0 // of the contenders; if negative, of `end`
  let spreadMs = 8
  const run = async (index: number) => {
    const { contenders, end, check } = await prepare(index)
    const [contendersMs, endMs, withinMs] = [Math.max(0, delayMs), Math.max(0, -delayMs), spreadMs]
    const contend = async (contender: () => Promise<boolean>) => {
      await sleep(contendersMs + Math.random() * withinMs)
      return contender()
    }
    const [results] = await Promise.all([Promise.all(contenders.map(contend)), sleep(endMs).then(end)])
    const share = results.filter(Boolean).length / results.length
    const outcome = share === 1 ? 'all' : share === 0 ? 'none' : 'some'
    tally[outcome]++
    delayMs += (share - 0.5) * spreadMs
    spreadMs = Math.min(maxSpreadMs, Math.max(2, outcome === 'some' ? spreadMs / 1.2 : spreadMs * 1.2))
    await check()
  }
  let next = 0
  const lane = async () => {
    while (next < rounds) await run(next++)
  }
  await Promise.all(Array.from({ length: width }, lane))
  return tally
}
