import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { besideRequests } from './beside-requests'

/** How many deletions have begun, after one more request. */
const begun = (cleanUp: (rows: number) => void, count: () => number) => {
  cleanUp(0)
  return count()
}

test('one deletion at a time: the next deletes what the requests in between owe', async () => {
  const limits: number[] = []
  let end = () => {}
  const cleanUp = besideRequests((limit) => {
    limits.push(limit)
    return new Promise((resolve) => {
      end = () => resolve([])
    })
  }, 1_000)
  cleanUp(4)
  for (let count = 0; count < 100; count++) cleanUp(4)
  expect(limits).toEqual([4])
  end()
  await expect.poll(() => begun(cleanUp, () => limits.length)).toBe(2)
  expect(limits[1]).toBe(400)
  for (let count = 0; count < 500; count++) cleanUp(4)
  end()
  await expect.poll(() => begun(cleanUp, () => limits.length)).toBe(3)
  expect(limits[2]).toBe(1_000)
})

test('a deletion is followed by a pause nine times as long', async () => {
  let begunAt = 0
  let calls = 0
  const durations: number[] = []
  const cleanUp = besideRequests(async () => {
    calls++
    begunAt = performance.now()
    await sleep(30)
    durations.push(performance.now() - begunAt)
    return []
  }, 1_000)
  cleanUp(1)
  await expect.poll(() => begun(cleanUp, () => calls), { interval: 1 }).toBe(1)
  await expect.poll(() => durations.length, { interval: 1 }).toBe(1)
  const endedAt = performance.now()
  await expect.poll(() => begun(cleanUp, () => calls), { interval: 1 }).toBe(2)
  expect(begunAt - endedAt).toBeGreaterThan(8 * durations[0]! - 20)
})

test('a failed deletion does not end the clean-up', async () => {
  let calls = 0
  const cleanUp = besideRequests(async () => {
    if (calls++ === 0) throw new Error('no connection')
    return []
  }, 1_000)
  cleanUp(1)
  await expect.poll(() => begun(cleanUp, () => calls)).toBeGreaterThan(1)
})
