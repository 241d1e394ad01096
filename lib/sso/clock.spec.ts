import { afterEach, expect, test, vi } from 'vitest'
import { log } from '../log/log'
import { warnAboutClock } from './clock'

afterEach(() => {
  vi.restoreAllMocks()
})

const hourMs = 60 * 60 * 1000
const startOfClock = performance.now.bind(performance)
const at = (seconds: number) => new Date(Date.now() + seconds * 1000)

test('warns about a clock that differs by more than a minute, once an hour per connection', () => {
  const warnings = vi.spyOn(log, 'warn').mockReturnValue()
  for (const time of [undefined, at(0), at(59), at(-59)]) warnAboutClock('acme', time)
  expect(warnings).not.toHaveBeenCalled()

  warnAboutClock('acme', at(90))
  warnAboutClock('acme', at(90))
  warnAboutClock('other', at(-120))
  const line = { connection: 'acme', check: 'clock', aheadSeconds: 90 }
  expect(warnings.mock.calls.map(([fields]) => fields)).toEqual([
    line,
    { connection: 'other', check: 'clock', aheadSeconds: -120 },
  ])

  vi.spyOn(performance, 'now').mockImplementation(() => startOfClock() + hourMs)
  warnAboutClock('acme', at(90))
  expect(warnings).toHaveBeenCalledTimes(3)
})
