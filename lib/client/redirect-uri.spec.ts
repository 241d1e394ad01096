import { describe, expect, test } from 'vitest'
import { demandRedirectUri, findNearest, isRegistered } from './redirect-uri'

const own = 'https://login.example.com'

describe('a client can be registered with', () => {
  const accepted = [
    'https://app.example.com/',
    'https://app.example.com/callback?tenant=7',
    'https://app.example.com:8443/callback',
    'https://login.example.com:8443/callback',
    'http://localhost:5173/callback',
    'http://127.0.0.1/callback',
    'http://[::1]:8080/callback',
    `https://app.example.com/${'x'.repeat(2_048 - 24)}`,
  ]
  for (const uri of accepted)
    test(uri.slice(0, 60), () => {
      expect(() => demandRedirectUri(uri, own)).not.toThrow()
    })
})

describe('a client cannot be registered with', () => {
  const rejected: Record<string, [uri: string, message: string]> = {
    'a relative URI': ['/callback', 'is not a redirect URI'],
    'another scheme': ['com.example.app:/callback', 'is not a redirect URI'],
    'a script': ['javascript:alert(1)', 'is not a redirect URI'],
    'http on another machine': ['http://app.example.com/', 'must begin with https://'],
    'a name that begins with localhost': [
      'http://localhost.example.com/',
      'must begin with https://',
    ],
    'a fragment': ['https://app.example.com/#x', 'must not have a fragment'],
    'an empty fragment': ['https://app.example.com/#', 'must not have a fragment'],
    'a user name': ['https://ada@app.example.com/', 'a user name or a password'],
    'a wildcard in the host': ['https://*.example.com/callback', 'has a wildcard'],
    'a wildcard in the path': ['https://app.example.com/*', 'has a wildcard'],
    'the origin of this service': [`${own}/callback`, 'on the origin of this service'],
    'a missing slash': ['https://app.example.com', 'use https://app.example.com/'],
    'another letter case': [
      'https://App.example.com/Callback',
      'use https://app.example.com/Callback',
    ],
    'the default port': ['https://app.example.com:443/', 'use https://app.example.com/'],
    'a path with dots': [
      'https://app.example.com/a/../b',
      'use https://app.example.com/b',
    ],
    'white space': ['https://app.example.com/ ', 'use https://app.example.com/'],
    'more than 2,048 characters': [
      `https://app.example.com/${'x'.repeat(2_048 - 23)}`,
      'at most 2048 characters',
    ],
  }
  for (const [what, [uri, message]] of Object.entries(rejected))
    test(what, () => {
      expect(() => demandRedirectUri(uri, own)).toThrow(message)
    })

  test('a password, which the error does not contain', () => {
    const password = 'lantern-meadow'
    expect(() =>
      demandRedirectUri(`https://ada:${password}@app.example.com/`, own),
    ).toThrow(expect.not.objectContaining({ message: expect.stringContaining(password) }))
  })
})

const redirectUris = [
  'https://app.example.com/callback',
  'http://127.0.0.1:8080/callback',
]
const confidential = { isPublic: false, redirectUris }
const ofAnApp = {
  isPublic: true,
  redirectUris: [...redirectUris, 'http://[::1]/callback', 'http://localhost/callback'],
}

test('redirect URIs are compared as text', () => {
  for (const uri of redirectUris) {
    expect(isRegistered(confidential, uri), uri).toBe(true)
    expect(isRegistered(ofAnApp, uri), uri).toBe(true)
  }

  const lookAlikes = [
    'https://app.example.com/callback/',
    'https://app.example.com/Callback',
    'https://app.example.com/callback?x',
    'https://app.example.com:443/callback',
    'https://app.example.com.evil.example/callback',
    'https://app.example.com@evil.example/callback',
    'https://evil.example/?https://app.example.com/callback',
    'http://app.example.com/callback',
    'https://app.example.com/callback\n',
    '',
  ]
  for (const uri of lookAlikes) {
    expect(isRegistered(confidential, uri), uri).toBe(false)
    expect(isRegistered(ofAnApp, uri), uri).toBe(false)
  }
})

test('the port on a loopback IP address may differ, for public clients only', () => {
  for (const uri of [
    'http://127.0.0.1:61023/callback',
    'http://127.0.0.1/callback',
    'http://[::1]:61023/callback',
  ]) {
    expect(isRegistered(ofAnApp, uri), uri).toBe(true)
    expect(isRegistered(confidential, uri), uri).toBe(false)
  }

  for (const uri of [
    'http://localhost:61023/callback',
    'http://127.1:61023/callback',
    'http://127.0.0.2:61023/callback',
    'https://127.0.0.1:61023/callback',
    'http://127.0.0.1:61023/callback/',
    'http://127.0.0.1:61023/',
    'http://127.0.0.1:61023',
    'http://127.0.0.1:61023@evil.example/callback',
    'http://ada@127.0.0.1:61023/callback',
    'http://127.0.0.1:/callback',
    'https://app.example.com:61023/callback',
  ])
    expect(isRegistered(ofAnApp, uri), uri).toBe(false)
})

describe('the difference to the nearest registered URI is', () => {
  const registered = ['https://app.example.com/callback', 'https://b.example/cb']
  const cases: Record<string, string[]> = {
    'https://app.example.com/callback/': ['the slash at the end'],
    'http://app.example.com/callback': ['the scheme'],
    'https://app.example.com:8443/callback': ['the port'],
    'https://app.example.com:443/callback': ['the port'],
    'https://app.example.com/Callback': ['the letter case'],
    'https://App.Example.com/callback': ['the letter case'],
    'https://App.example.com/Callback/': ['the letter case', 'the slash at the end'],
    'https://app.example.com/login': ['the path'],
    'https://app.example.org/callback': ['the host'],
    'https://app.example.com/callback?x': ['the query'],
    'http://app.example.com:3000/callback/': [
      'the scheme',
      'the port',
      'the slash at the end',
    ],
  }
  for (const [uri, differences] of Object.entries(cases))
    test(`${differences.join(', ')}: ${uri}`, () => {
      expect(findNearest(uri, registered)).toEqual({ uri: registered[0], differences })
    })

  test('a slip rather than another host', () => {
    const uris = ['https://a.example/cb/', 'https://b.example/cb']
    expect(findNearest('https://b.example/cb/', uris)).toEqual({
      uri: uris[1],
      differences: ['the slash at the end'],
    })
  })

  test('the port of an IPv6 address', () => {
    expect(findNearest('http://[::1]:2/cb', ['http://[::1]:1/cb'])).toMatchObject({
      differences: ['the port'],
    })
  })

  test('unknown for a URI that is not absolute, or without registered URIs', () => {
    expect(findNearest('/callback', registered)).toBeNull()
    expect(findNearest('https://app.example.com/callback', [])).toBeNull()
  })
})
