import { expect, test } from 'playwright/test'
import { parseEnv } from './env'
import { newSigningKeys } from './signing-keys'

const good = {
  NODE_ENV: 'production',
  DATABASE_URL: 'postgresql://user:secret@db.example.com/app',
  PUBLIC_URL: 'https://login.example.com',
  SESSION_SIGNING_KEYS: newSigningKeys(),
  UPSTASH_REDIS_REST_URL: 'https://x.upstash.io',
  UPSTASH_REDIS_REST_TOKEN: 'secret',
}

/** The settings that are complained of. */
function complaints(settings: Record<string, string | undefined>): string[] {
  try {
    parseEnv(settings)
  } catch (error) {
    const [, ...lines] = (error as Error).message.split('\n')
    return lines.map((line) => line.trim())
  }
  return []
}

test('what is needed is enough', () => {
  expect(complaints(good)).toEqual([])
  expect(parseEnv(good).PUBLIC_URL).toBe('https://login.example.com')
})

test('all that is missing is listed at once; an empty setting is missing', () => {
  const names = (lines: string[]) => lines.map((line) => line.split(' ')[0])
  const all = ['DATABASE_URL', 'PUBLIC_URL', 'SESSION_SIGNING_KEYS', 'UPSTASH_REDIS_REST_URL']
  expect(names(complaints({ NODE_ENV: 'production' }))).toEqual(all)
  expect(
    names(
      complaints(Object.fromEntries(Object.keys(good).map((name) => [name, name === 'NODE_ENV' ? 'production' : ' ']))),
    ),
  ).toEqual(all)
})

test('what is wrong is listed beside it, without its value', () => {
  const wrong = {
    ...good,
    DATABASE_URL: 'mysql://secret',
    PUBLIC_URL: 'https://login.example.com/path',
    SESSION_SIGNING_KEYS: '{"keys":["secret"]}',
    TRUSTED_PROXIES: 'secret',
    PASSWORD_MIN_LENGTH: '7',
    DASHBOARD_URL: '//secret.example',
    UPSTASH_REDIS_REST_TOKEN: '',
  }
  const lines = complaints(wrong)
  for (const name of [
    'DATABASE_URL',
    'PUBLIC_URL',
    'SESSION_SIGNING_KEYS',
    'TRUSTED_PROXIES',
    'PASSWORD_MIN_LENGTH',
    'DASHBOARD_URL',
    'UPSTASH_REDIS_REST_TOKEN',
  ]) {
    expect(
      lines.filter((line) => line.startsWith(`${name} `)),
      name,
    ).toHaveLength(1)
  }
  expect(lines.join()).not.toContain('secret')
})

test('doing without Upstash has to be said in production, and only there', () => {
  const without = { ...good, UPSTASH_REDIS_REST_URL: undefined, UPSTASH_REDIS_REST_TOKEN: undefined }
  expect(complaints(without)).toHaveLength(1)
  expect(complaints({ ...without, RATE_LIMIT: 'in-process' })).toEqual([])
  expect(complaints({ ...good, RATE_LIMIT: 'in-process' })).toHaveLength(1) // it would be ignored without a word
  expect(complaints({ ...without, NODE_ENV: 'development' })).toEqual([])
  expect(complaints({ ...without, RATE_LIMIT: 'upstash', NODE_ENV: 'development' })).toHaveLength(2)
  expect(complaints({ ...without, KV_REST_API_URL: 'https://x.upstash.io', KV_REST_API_TOKEN: 'x' })).toEqual([])
})

test('on Vercel the public address is known', () => {
  const onVercel = {
    ...good,
    PUBLIC_URL: undefined,
    VERCEL: '1',
    VERCEL_URL: 'app-123.vercel.app',
    VERCEL_PROJECT_PRODUCTION_URL: 'login.example.com',
  }
  expect(parseEnv({ ...onVercel, VERCEL_ENV: 'production' }).PUBLIC_URL).toBe('https://login.example.com')
  expect(parseEnv({ ...onVercel, VERCEL_ENV: 'preview' }).PUBLIC_URL).toBe('https://app-123.vercel.app')
})

test('production is reached over https, except on the machine itself', () => {
  const wrong = 'PUBLIC_URL must begin with https:// in production, unless its host is localhost'
  for (const host of [
    'login.example.com',
    'localhost.example.com',
    'notlocalhost',
    '127.0.0.1.example.com',
    '128.0.0.1',
    '0.0.0.0',
    '10.0.0.1',
    '[::2]',
  ]) {
    expect(complaints({ ...good, PUBLIC_URL: `http://${host}` }), host).toEqual([wrong])
    expect(complaints({ ...good, PUBLIC_URL: `HTTP://${host}:8080` }), host).toEqual([wrong])
    expect(complaints({ ...good, PUBLIC_URL: `https://${host}` }), host).toEqual([])
    expect(complaints({ ...good, PUBLIC_URL: `http://${host}`, NODE_ENV: 'development' }), host).toEqual([])
  }
  for (const host of ['localhost', 'LOCALHOST', 'app.localhost', '127.0.0.1', '127.255.0.9', '[::1]']) {
    expect(complaints({ ...good, PUBLIC_URL: `http://${host}:3000` }), host).toEqual([])
  }
  const several = complaints({ ...good, PUBLIC_URL: 'http://login.example.com', DATABASE_URL: 'wrong' })
  expect(several).toEqual([expect.stringMatching(/^DATABASE_URL /), wrong]) // in the list with all that is wrong
  expect(complaints({ ...good, PUBLIC_URL: 'http://login.example.com/path' })).toHaveLength(2)
})

test('DATABASE_POOLED is true or false; DIRECT_DATABASE_URL says nothing of it', () => {
  const direct = { ...good, DIRECT_DATABASE_URL: 'postgresql://owner:secret@db.example.com/app' }
  expect(parseEnv(direct).DATABASE_POOLED).toBe(false)
  expect(parseEnv({ ...good, DATABASE_POOLED: 'true' }).DATABASE_POOLED).toBe(true)
  expect(parseEnv({ ...good, DATABASE_POOLED: 'false' }).DATABASE_POOLED).toBe(false)
  expect(complaints({ ...good, DATABASE_POOLED: 'yes' })).toEqual([expect.stringMatching(/^DATABASE_POOLED /)])
})

test('the breached-password check is on in production unless it is switched off, and off elsewhere', () => {
  const check = (settings: Record<string, string>) => parseEnv({ ...good, ...settings }).PASSWORD_BREACH_CHECK
  expect(check({})).toBe(true)
  expect(check({ PASSWORD_BREACH_CHECK: '' })).toBe(true)
  expect(check({ PASSWORD_BREACH_CHECK: 'false' })).toBe(false)
  expect(check({ NODE_ENV: 'development' })).toBe(false)
  expect(check({ NODE_ENV: 'development', PASSWORD_BREACH_CHECK: 'true' })).toBe(true)
  expect(complaints({ ...good, PASSWORD_BREACH_CHECK: 'no' })).toHaveLength(1)
})
