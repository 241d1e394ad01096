import { inspect } from 'node:util'
import { expect, test } from 'vitest'
import { redactUrls } from './redact-console'

test('the output contains no query and no password of a URL', () => {
  for (const [printed, expected] of [
    ['GET /sso/callback?code=secret 200', 'GET /sso/callback?… 200'],
    [
      'fetch http://user:secret@host:80/path?a=secret failed',
      'fetch http://…@host:80/path?… failed',
    ],
    ["'http://user:se@cret@host/a@b'", "'http://…@host/a@b'"],
    ['X must be a URL like redis://user:password@host:6379', undefined],
    ['at file:///app/node_modules/@prisma/x.js:1:1', undefined],
    ['Is it ready? x=1, input: 7', undefined],
  ] as const)
    expect(redactUrls(printed)).toBe(expected ?? printed)
})

test('the output contains no malformed URL that an error of Node.js quotes', () => {
  for (const url of ['http://user:se/cret@host:99999', "user's:secret", 'http://sec ret'])
    try {
      new URL(url)
    } catch (error) {
      const printed = redactUrls(inspect(new Error('failed', { cause: error })))
      expect(printed).toContain('ERR_INVALID_URL')
      expect(printed).not.toMatch(/cret/)
    }
})
