import { existsSync } from 'node:fs'
import { expect, test } from 'vitest'
import { describeProvider } from './discovery'

const issuer = 'https://login.example.com'
const provider = describeProvider(issuer)

test('the issuer is the origin, without a slash', () => {
  expect(provider.issuer).toBe(issuer)
})

test('the document names only endpoints that have a route', () => {
  const urls = Object.entries(provider).filter(([name]) => /_(uri|endpoint)$/.test(name))
  expect(urls.length).toBeGreaterThan(0)
  for (const [name, url] of urls) {
    expect(url).toMatch(/^https:\/\/login\.example\.com\//)
    const path = new URL(url as string).pathname
    expect(existsSync(`app${path}/route.ts`), `${name} ${path}`).toBe(true)
  }
})

test('clients choose code, PKCE with S256, and RS256 from the document', () => {
  expect(provider).toMatchObject({
    response_types_supported: ['code'],
    code_challenge_methods_supported: ['S256'],
    id_token_signing_alg_values_supported: ['RS256'],
    request_uri_parameter_supported: false,
  })
})
