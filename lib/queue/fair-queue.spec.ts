import { expect, test } from 'vitest'
import { FairQueue } from './fair-queue'

const nextTurn = () => new Promise<void>((resolve) => setImmediate(resolve))

/** A queue, the tasks that it ran, and a function that adds tasks by name: `a1` is of network `a`. */
function queueOf(maxRunning: number, maxPending: number) {
  const queue = new FairQueue(maxRunning, maxPending, 5)
  const ran: string[] = []
  let running = 0
  let most = 0
  const add = (...names: string[]) =>
    names.map((name) =>
      queue
        .add(name[0]!, async () => {
          most = Math.max(most, ++running)
          ran.push(name)
          await nextTurn()
          running--
          if (name.endsWith('!')) throw new Error(name)
        })
        .then(
          () => 'done',
          (error) => error.code ?? 'failed',
        ),
    )
  return { ran, add, most: () => most }
}

test('networks take turns, and a task that fails does not stop the others', async () => {
  const { ran, add, most } = queueOf(2, 20)
  const results = await Promise.all(add('a1', 'a2!', 'a3', 'a4!', 'a5', 'b1', 'b2', 'c1'))
  expect(ran).toEqual(['a1', 'a2!', 'a3', 'b1', 'c1', 'a4!', 'b2', 'a5'])
  expect(results).toEqual(['done', 'failed', 'done', 'failed', 'done', 'done', 'done', 'done'])
  expect(most()).toBe(2)
  expect(await Promise.all(add('d1', 'd2', 'd3'))).toEqual(['done', 'done', 'done'])
  expect(most()).toBe(2)
})

test('a full queue rejects the newest task of the network that has the most', async () => {
  const { ran, add } = queueOf(1, 5)
  const results = await Promise.all(add('a1', 'a2', 'a3', 'a4', 'a5', 'a6', 'b1', 'b2', 'c1', 'd1', 'b3'))
  const full = 'SERVICE_UNAVAILABLE'
  // b1, b2, c1 and d1 take the room of a5, a4, a3 and b2
  expect(results).toEqual(['done', 'done', full, full, full, full, 'done', full, 'done', 'done', full])
  expect(ran).toEqual(['a1', 'a2', 'b1', 'c1', 'd1'])
})

test('the networks of one owner count as one: 24 of them keep nobody out, and take every other turn', async () => {
  const queue = new FairQueue(1, 24, 5)
  const ran: string[] = []
  const add = (network: string) =>
    queue
      .add(network, async () => {
        ran.push(network)
        await nextTurn()
      })
      .then(
        () => 'done',
        (error) => error.code,
      )
  const ofOwner = Array.from({ length: 24 }, (_, index) => add(`2001:db8:5:${index.toString(16)}::/64`))
  const others = ['198.51.100.7', '2001:db8:6:1::/64', '203.0.113.7'].map(add)
  expect(await Promise.all(others)).toEqual(['done', 'done', 'done'])
  const outcomes = await Promise.all(ofOwner)
  expect(outcomes.filter((outcome) => outcome === 'SERVICE_UNAVAILABLE')).toHaveLength(3)
  expect(ran.slice(2, 5)).toEqual(['198.51.100.7', '2001:db8:6:1::/64', '203.0.113.7'])
})
