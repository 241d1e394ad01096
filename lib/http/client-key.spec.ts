import { expect, test } from 'vitest'
import { env } from '../settings/env'
import { clientKey } from './client-key'

const addressOf = (headers: Record<string, string>) =>
  clientKey({ headers: new Headers(headers) })
const header = 'X-Vercel-Forwarded-For'

test('on Vercel, only the last entry of Vercel’s header is used', () => {
  const forged = { 'X-Forwarded-For': '203.0.113.1', 'X-Real-IP': '203.0.113.2' }
  const given = ['203.0.113.7', '203.0.113.3, 203.0.113.7', '2001:db8:1:2::9'].map(
    (value) => ({ [header]: value }),
  )
  env().VERCEL = '1'
  const keys = [...given, {}].map((own) => addressOf({ ...forged, ...own }))
  env().VERCEL = undefined
  expect(keys).toEqual(['203.0.113.7', '203.0.113.7', '2001:db8:1:2::/64', 'unknown'])
})

test('outside Vercel, Vercel’s header is ignored', () => {
  const key = addressOf({
    'X-Forwarded-For': '203.0.113.1, 127.0.0.1',
    [header]: '203.0.113.7',
  })
  expect(key).toBe('203.0.113.1') // the address that the trusted proxy appended
})
