import { expect, test } from 'vitest'
import { HalfTime, InTurn, InTurnByKey } from './in-turn'

const nextTurn = () => new Promise<void>((resolve) => setImmediate(resolve))

test('work runs one at a time, in order, and goes on after an error', async () => {
  const turns = new InTurn()
  const log: string[] = []
  const work = (name: string) => async () => {
    log.push(`${name} starts`)
    await nextTurn()
    log.push(`${name} ends`)
    if (name === 'a') throw new Error(name)
    return name
  }
  const results = await Promise.allSettled(['a', 'b', 'c'].map((name) => turns.add(work(name))))
  expect(results.map(({ status }) => status)).toEqual(['rejected', 'fulfilled', 'fulfilled'])
  expect(log).toEqual(['a starts', 'a ends', 'b starts', 'b ends', 'c starts', 'c ends'])
})

test('keys do not wait for each other, and nothing is kept of a key without work', async () => {
  const turns = new InTurnByKey()
  const log: string[] = []
  const add = (key: string, name: string, failing = false) =>
    turns.add(key, async (hadToWait) => {
      log.push(`${name} ${hadToWait ? 'waited' : 'at once'}`)
      await nextTurn()
      if (failing) throw new Error(name)
    })
  const all = Promise.allSettled([add('x', 'x1', true), add('x', 'x2'), add('y', 'y1')])
  expect(turns.size).toBe(2)
  await all
  expect(log).toEqual(['x1 at once', 'y1 at once', 'x2 waited'])
  expect(turns.size).toBe(0)
  await add('x', 'x3')
  expect(log.at(-1)).toBe('x3 at once')
  expect(turns.size).toBe(0)
})

test('tasks that block take at most half of the time, in turns of their own, also after an error', async () => {
  const tasks = new HalfTime()
  const times: { start: number; end: number; turn: number }[] = []
  let turn = 0
  let running = true
  const countTurns = () => {
    turn++
    if (running) setImmediate(countTurns)
  }
  countTurns()
  const block = () => {
    const start = performance.now()
    while (performance.now() < start + 20);
    times.push({ start, end: performance.now(), turn })
    if (times.length === 2) throw new Error('of a task')
  }
  const results = await Promise.allSettled(Array.from({ length: 5 }, () => tasks.add(block)))
  running = false
  expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled', 'fulfilled', 'fulfilled'])
  for (const [index, { start, end, turn }] of times.slice(0, -1).entries()) {
    const next = times[index + 1]!
    expect(next.start - end).toBeGreaterThan(0.9 * (end - start)) // timers are exact to a millisecond
    expect(next.turn).toBeGreaterThan(turn)
  }
})
