import { expect, test } from 'vitest'
import { formatRelativeTime } from './relative-time'

test('a relative time uses the largest unit for which the number is at least 1.5', () => {
  const texts = [0, 89, 700, 90 * 60, 7 * 24 * 60 * 60 - 30, -2.9 * 60 * 60].map((each) =>
    formatRelativeTime(each, 'en'),
  )
  expect(texts.join(', ')).toBe(
    'now, in 89 seconds, in 12 minutes, in 2 hours, in 7 days, 2 hours ago',
  )
  expect(formatRelativeTime(3 * 24 * 60 * 60, 'de-CH')).toBe('in 3 Tagen')
})
