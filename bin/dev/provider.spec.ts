import { expect, test } from 'vitest'
import { startLocalProvider } from './provider'

test('the errors of the local provider are sentences, not codes', async () => {
  const redirectUri = 'http://127.0.0.1:1/api/auth/sso/local/callback'
  const provider = await startLocalProvider({ redirectUris: [redirectUri], people: [] })
  const read = async (path: string) => {
    const response = await fetch(provider.issuer + path, {
      headers: { Accept: 'text/html' },
    })
    return [response.status, await response.text()] as const
  }

  const [status, ended] = await read('/interaction/unknown')
  expect(status).toBe(400)
  expect(ended).toContain('It has ended, or was started in another browser.')
  expect(ended).not.toMatch(/invalid_request|SessionNotFound/)

  const [, rejected] = await read('/auth?client_id=unknown')
  expect(rejected).toContain('This sign-in can’t start')
  expect(rejected).toContain('can’t accept: client is invalid.')
  expect(rejected).not.toContain('invalid_client')
  await provider.stop()
})
