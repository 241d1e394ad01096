import { expect, test } from 'vitest'
import { env } from '../settings/env'
import { clientKey } from './client-key'

const addressOf = (headers: Record<string, string>) => clientKey({ headers: new Headers(headers) })

test('on Vercel, only the last entry of its own header counts', () => {
  const settings = env()
  const { VERCEL } = settings
  settings.VERCEL = '1'
  try {
    const forged = { 'X-Forwarded-For': '203.0.113.1', 'X-Real-IP': '203.0.113.2' }
    const header = 'X-Vercel-Forwarded-For'
    expect(addressOf({ ...forged, [header]: '203.0.113.7' })).toBe('203.0.113.7')
    expect(addressOf({ ...forged, [header]: '203.0.113.3, 203.0.113.7' })).toBe('203.0.113.7')
    expect(addressOf({ ...forged, [header]: '2001:db8:1:2::9' })).toBe('2001:db8:1:2::/64')
    expect(addressOf(forged)).toBe('unknown')
  } finally {
    settings.VERCEL = VERCEL
  }
})

test('outside Vercel, Vercel’s header is ignored', () => {
  expect(addressOf({ 'X-Forwarded-For': '203.0.113.1, 127.0.0.1', 'X-Vercel-Forwarded-For': '203.0.113.7' })).toBe(
    '203.0.113.1', // behind the one proxy of the tests
  )
})
