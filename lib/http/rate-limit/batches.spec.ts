import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { inBatches } from './batches'

/** A call that takes 5 ms, and how many calls started in each turn of the event loop. */
function countTurns() {
  const turns: number[] = []
  let sameTurn = false
  const call = inBatches(async (value: number) => {
    if (sameTurn) turns[turns.length - 1]! += 1
    else turns.push(1)
    sameTurn = true
    nextTurn().then(() => {
      sameTurn = false
    })
    await sleep(5)
    return value
  })
  return { call, turns }
}

test('calls made while one is under way start together', async () => {
  const { call, turns } = countTurns()
  const first = call(0)
  await sleep(1)
  const others = Array.from({ length: 49 }, (_, index) => call(index + 1))
  expect(await Promise.all([first, ...others])).toEqual(Array.from({ length: 50 }, (_, index) => index))
  expect(turns).toEqual([1, 49])
})

test('no call waits for one that never ends', async () => {
  const started: number[] = []
  const call = inBatches((value: number) => {
    started.push(value)
    return value === 0 ? new Promise<number>(() => {}) : Promise.resolve(value)
  })
  call(0)
  await sleep(1)
  expect(await call(1)).toBe(1)
  expect(started).toEqual([0, 1])
})

test('a call that fails fails alone', async () => {
  const call = inBatches(async (value: number) => {
    await sleep(1)
    if (value === 0) throw new Error('the first')
    return value
  })
  const first = call(0)
  await sleep(0)
  const second = call(1)
  await expect(first).rejects.toThrow('the first')
  expect(await second).toBe(1)
})
