import { expect, test } from 'vitest'
import { demandOrigin } from './manage'

test('accepts an origin as browsers send it', () => {
  const elsewhere =
    'https://www.example.com https://www.example.com:8443 https://xn--bcher-kva.example https://192.0.2.1'
  const here = 'http://localhost:3000 http://127.0.0.1:8080 http://[::1]'
  for (const origin of `${elsewhere} ${here}`.split(' '))
    expect(() => demandOrigin(origin), origin).not.toThrow()
})

const rejected = {
  'a path or a slash': ['/', '/page', '?x', '#'].map(
    (end) => `https://www.example.com${end}`,
  ),
  'a default port': ['https://www.example.com:443'],
  'another letter case': ['https://WWW.example.com', 'HTTPS://www.example.com'],
  'white space': [' https://www.example.com'],
  'a domain in Unicode': ['https://bücher.example'],
  'a user name': ['https://user@www.example.com'],
  'a wildcard or several values': [
    '*',
    'https://*.example.com',
    'https://a.example, https://b.example',
    'https://a.example https://b.example',
  ],
  'http, except on localhost': ['http://www.example.com', 'http://localhost.example.com'],
  'other schemes': [
    'file://',
    'chrome-extension://x',
    'ftp://www.example.com',
    'javascript:alert(1)',
  ],
  'no scheme': ['null', '', 'www.example.com', '//www.example.com'],
}
for (const [what, origins] of Object.entries(rejected))
  test(`rejects ${what}`, () => {
    for (const origin of origins) expect(() => demandOrigin(origin), origin).toThrow(/^“/)
  })

test('an error for a value that is almost an origin names the right value', () => {
  expect(() => demandOrigin('https://www.example.com/')).toThrow(
    'use https://www.example.com',
  )
  expect(() => demandOrigin('https://bücher.example')).toThrow(
    'use https://xn--bcher-kva.example',
  )
})
