import fc from 'fast-check'
import { expect, test } from 'playwright/test'
import { nextPath } from './next-path'

const origin = 'https://login.example.com'

const accepted = {
  '/': '/',
  '/reports': '/reports',
  '/reports?year=2026&q=a%20b#top': '/reports?year=2026&q=a%20b#top',
  '/a/../b': '/b',
  '/reports?next=https://evil.example': '/reports?next=https://evil.example',
  '/@evil.example': '/@evil.example',
  '/apiary': '/apiary',
  '/grüße': '/gr%C3%BC%C3%9Fe',
}

const rejected = [
  undefined,
  null,
  1,
  ['/a'],
  '',
  'reports',
  'https://evil.example',
  'https://login.example.com/reports',
  'javascript:alert(1)',
  'data:text/html,x',
  '//evil.example',
  '///evil.example',
  '/\\evil.example',
  '\\\\evil.example',
  '/\t/evil.example',
  '/\n/evil.example',
  '\t//evil.example',
  ' //evil.example',
  '/.//evil.example',
  '/a/..//evil.example',
  '/%2e%2e//evil.example',
  '/%2F/evil.example',
  '/%5Cevil.example',
  '/\0',
  '/a\\b',
  '/%',
  '/api/auth/sso/exchange',
  '/api',
  '/x/../api/health',
  '/%61pi/health',
  '/sso/callback',
  '/sso/callback?code=x',
  '/sign-out',
  '/_next/static/x.js',
]

for (const [given, path] of Object.entries(accepted)) {
  test(`accepts ${given}`, () => expect(nextPath(given, origin)).toBe(path))
}

for (const given of rejected) {
  test(`rejects ${JSON.stringify(given)}`, () => expect(nextPath(given, origin)).toBeNull())
}

test('every accepted path stays on our origin', () => {
  const piece = fc.constantFrom(
    '/',
    '\\',
    '.',
    '..',
    '@',
    ':',
    '?',
    '#',
    '%2f',
    '%5c',
    '%00',
    '\t',
    '\n',
    ' ',
    'evil.example',
    'https:',
    'a',
  )
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 8 }), (pieces) => {
      const path = nextPath(`/${pieces.join('')}`, origin)
      if (path !== null) expect(new URL(path, origin).origin).toBe(origin)
      if (path !== null) expect(path).not.toMatch(/^\/[/\\]/)
    }),
    { numRuns: 5_000 },
  )
})
