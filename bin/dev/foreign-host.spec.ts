import { expect, test } from 'vitest'
import { hasForeignHost } from './foreign-host'

test('only this machine and the host of PUBLIC_URL are no foreign hosts', () => {
  const { PUBLIC_URL } = process.env
  process.env.PUBLIC_URL = 'https://login.example.com'
  const own = [
    'localhost',
    'LOCALHOST:3000',
    'login.localhost:3000',
    '127.0.0.1:4100',
    '127.8.9.10',
    '[::1]:3000',
    'login.example.com',
    'Login.Example.com:8443',
  ]
  for (const host of own) expect(hasForeignHost({ headers: { host } }), host).toBe(false)
  const foreign = [
    'evil.example',
    'evil.example:3000',
    'localhost.evil.example',
    '127.0.0.1.evil.example',
    'login.example.com.evil.example',
    'other.login.example.com',
    '192.168.0.2:3000',
    '0.0.0.0:3000',
    '[::2]:3000',
    '',
    ' ',
    'a b',
    undefined,
  ]
  for (const host of foreign)
    expect(hasForeignHost({ headers: { host } }), host).toBe(true)
  process.env.PUBLIC_URL = ''
  expect(hasForeignHost({ headers: { host: '' } })).toBe(true)
  process.env.PUBLIC_URL = PUBLIC_URL
})
