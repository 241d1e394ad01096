import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { PageTurns, RouteTurns, Turns, YieldingTurns } from './turns.mjs'

const kinds = {
  'at most one at a time': () => new Turns(1),
  'of routes': () =>
    new RouteTurns(
      () => 0,
      () => false,
    ),
  'of files': () => new YieldingTurns(1, () => 0),
  'of pages': () => new PageTurns(64, () => 0),
}
for (const [kind, newTurns] of Object.entries(kinds)) {
  test(`turns ${kind} that end at once: 20,000 of them all begin`, async () => {
    const turns = newTurns()
    let begun = 0
    const first = {}
    turns.request(first, '192.0.2.1', () => {}) // the others wait behind it
    for (let index = 0; index < 20_000; index++) {
      const holder = {}
      turns.request(holder, '192.0.2.1', () => {
        begun++
        turns.end(holder)
      })
    }
    turns.end(first)
    await expect.poll(() => begun).toBe(20_000)
    expect(turns.size).toBe(0)
  })

  test(`turns ${kind} of clients that have gone are neither begun nor lost`, async () => {
    const turns = newTurns()
    turns.request({}, '192.0.2.1', () => {})
    for (let round = 0; round < 20; round++) {
      const holder = {}
      turns.request(holder, '192.0.2.1', () => {})
      turns.end(holder)
      await sleep(1)
    }
    expect(turns.size).toBe(1)
  })
}

test('pages begin even if a connection is accepted in each iteration of the event loop', async () => {
  let accepted = 0
  const turns = new PageTurns(64, () => accepted++)
  let begun = 0
  for (let index = 0; index < 20; index++) {
    const holder = {}
    turns.request(holder, '192.0.2.1', () => {
      begun++
      turns.end(holder)
    })
  }
  await expect.poll(() => begun).toBe(20)
})
