import { expect, test } from 'vitest'
import { formatDuration } from './durations'
import { formatRelativeTime } from './relative-time'

test('a future time uses the largest unit for which the number is at least 1.5', () => {
  const texts = [0, 89, 700, 90 * 60, 7 * 24 * 60 * 60 - 30].map((each) =>
    formatRelativeTime(each, 'en'),
  )
  expect(texts.join(', ')).toBe(
    'now, in 89 seconds, in 12 minutes, in 2 hours, in 7 days',
  )
  expect(formatRelativeTime(3 * 24 * 60 * 60, 'de-CH')).toBe('in 3 Tagen')
})

test('a past time uses the largest unit for which the number is at least 1', () => {
  const texts = [-0.4, -59, -60, -119, -2.9 * 60 * 60, -24 * 60 * 60].map((each) =>
    formatRelativeTime(each, 'en'),
  )
  expect(texts.join(', ')).toBe(
    'now, 59 seconds ago, 1 minute ago, 1 minute ago, 2 hours ago, 1 day ago',
  )
})

test('numbers have the same digits as the texts, in every region', () => {
  for (const language of ['ar', 'ar-EG', 'ar-SA']) {
    expect(formatRelativeTime(40, language)).toContain('40')
    expect(formatDuration(30 * 60, language)).toContain('30')
  }
})
