import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { forgotPasswordPageUrl, nextDestination, signInPageUrl } from './next-path'

const origin = 'https://login.example.com'
const dashboardUrl = 'https://app.example.com/home?tab=1'

const accepted = {
  '/': '/',
  '/reports': '/reports',
  '/reports?year=2026&q=a%20b#top': '/reports?year=2026&q=a%20b#top',
  '/a/../b': '/b',
  '/reports?next=https://evil.example': '/reports?next=https://evil.example',
  '/@evil.example': '/@evil.example',
  '/apiary': '/apiary',
  '/grüße': '/gr%C3%BC%C3%9Fe',
  '/api/auth/authorize?state=x': '/api/auth/authorize?state=x',
}

const rejected: Record<string, unknown[]> = {
  'other types': [undefined, null, 1, ['/a']],
  'paths that do not begin with a slash': [
    '',
    'reports',
    'javascript:alert(1)',
    'data:text/html,x',
  ],
  'URLs with a host': ['https://evil.example', 'https://login.example.com/reports'],
  'two slashes': [
    '//evil.example',
    '///evil.example',
    '/.//evil.example',
    '/a/..//evil.example',
    '/%2e%2e//evil.example',
  ],
  backslashes: ['/\\evil.example', '\\\\evil.example', '/a\\b'],
  'characters that a browser skips': [
    '/\t/evil.example',
    '/\n/evil.example',
    '\t//evil.example',
    ' //evil.example',
  ],
  'encoded slashes and broken escapes': [
    '/%2F/evil.example',
    '/%5Cevil.example',
    '/\0',
    '/%',
  ],
  'paths of the API': [
    '/api/auth/%61uthorize?state=x',
    '/api/auth/authorize/x',
    '/api/auth/authorize-x',
    '/api/auth/sso/exchange',
    '/api',
    '/x/../api/health',
    '/%61pi/health',
  ],
  'pages that are steps of a sign-in, and files': [
    '/sso/callback',
    '/sso/callback?code=x',
    '/sign-in',
    '/sign-out',
    '/_next/static/x.js',
  ],
}

for (const [given, path] of Object.entries(accepted)) {
  test(`accepts ${given}`, () => {
    for (const dashboard of ['/', dashboardUrl])
      expect(nextDestination(given, origin, dashboard)).toBe(path)
  })
}

for (const [what, values] of Object.entries(rejected)) {
  test(`rejects ${what}`, () => {
    for (const given of values) {
      for (const dashboard of ['/', dashboardUrl])
        expect(nextDestination(given, origin, dashboard), String(given)).toBeNull()
    }
  })
}

test('every accepted path leads to our origin', () => {
  const marks = [
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
  ]
  const piece = fc.constantFrom(...marks, 'evil.example', 'https:', 'a')
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 8 }), (pieces) => {
      const path = nextDestination(`/${pieces.join('')}`, origin, '/')
      if (path !== null) expect(new URL(path, origin).origin).toBe(origin)
      if (path !== null) expect(path).not.toMatch(/^\/[/\\]/)
    }),
    { numRuns: 2_000 },
  )
})

describe('a URL of the dashboard', () => {
  const pages = {
    'https://app.example.com': 'https://app.example.com/',
    'https://app.example.com/reports?year=2026&q=a%20b#top':
      'https://app.example.com/reports?year=2026&q=a%20b#top',
    'https://app.example.com/a/../b': 'https://app.example.com/b',
    'https://app.example.com:443/a': 'https://app.example.com/a',
    'https://APP.Example.com/A': 'https://app.example.com/A',
    'https:///app.example.com/a': 'https://app.example.com/a', // browsers read the URL in this way
    // on the host of the dashboard, every path is accepted
    'https://app.example.com/sso/callback?code=x':
      'https://app.example.com/sso/callback?code=x',
    'https://app.example.com//evil.example': 'https://app.example.com//evil.example',
    'https://app.example.com/@evil.example': 'https://app.example.com/@evil.example',
    'https://app.example.com/?next=https://evil.example':
      'https://app.example.com/?next=https://evil.example',
  }
  for (const [given, destination] of Object.entries(pages)) {
    test(`accepts ${given}`, () => {
      expect(nextDestination(given, origin, dashboardUrl)).toBe(destination)
      expect(nextDestination(given, origin, '/dashboard')).toBeNull()
    })
  }

  const at = (host: string) => `https://${host}/`
  const others: Record<string, string[]> = {
    'other schemes': ['http', 'ftp', 'wss', 'blob:https'].map(
      (scheme) => `${scheme}://app.example.com/`,
    ),
    'other ports': [at('app.example.com:8443'), at('app.example.com:99999')],
    'other hosts': [
      'evil.example',
      'example.com',
      'x.app.example.com',
      'app.example.com.',
      'login.example.com',
    ].map(at),
    'hosts that resemble the dashboard’s': [
      'app.example.com.evil.example',
      'app.\u202eexample.com',
      '',
      '%',
    ].map(at),
    'user names': [
      'app.example.com@evil.example',
      'user@app.example.com',
      ':password@app.example.com',
    ].map(at),
    'the dashboard’s URL in another part of a URL': [
      'evil.example/',
      'evil.example#',
      'evil.example\\@',
    ].map((url) => at(url + dashboardUrl)),
    backslashes: [
      'https:\\\\app.example.com/',
      'https:/\\app.example.com/',
      'https://app.example.com\\@evil.example/',
    ],
    'too few slashes or no scheme': [
      'https:app.example.com/',
      'https:/app.example.com/',
      '//app.example.com/',
    ],
    'characters that a browser skips': [
      ` ${dashboardUrl}`,
      `\t${dashboardUrl}`,
      dashboardUrl.replace('t', 't\n'),
    ],
    'control characters': [`${dashboardUrl}\r\nSet-Cookie: a=b`, `${dashboardUrl}\0`],
    scripts: ['javascript:alert(1)//https://app.example.com/'],
  }
  for (const [what, values] of Object.entries(others)) {
    test(`rejects ${what}`, () => {
      for (const given of values)
        expect(
          nextDestination(given, origin, dashboardUrl),
          JSON.stringify(given),
        ).toBeNull()
    })
  }
  test('rejects a list', () =>
    expect(nextDestination([dashboardUrl], origin, dashboardUrl)).toBeNull())

  test('on our own origin is treated as a path of this site, so the same paths are rejected', () => {
    const ours = `${origin}/dashboard`
    expect(nextDestination(`${origin}/reports?year=2026#top`, origin, ours)).toBe(
      '/reports?year=2026#top',
    )
    expect(nextDestination(`${origin}`, origin, ours)).toBe('/')
    for (const path of [
      '/sso/callback?code=x',
      '/%73so/callback',
      '/a/../sign-out',
      '/api/health',
      '//evil.example',
    ])
      expect(nextDestination(origin + path, origin, ours), path).toBeNull()
  })

  test('every accepted value leads to our origin or to the origin of the dashboard', () => {
    const hosts = ['app.example.com', 'login.example.com', 'evil.example', 'example.com']
    const marks = [
      '/',
      '\\',
      '.',
      '@',
      ':',
      '?',
      '#',
      '%2f',
      '%40',
      '\t',
      ' ',
      '443',
      'sso/callback',
      'https:',
      'a',
    ]
    const piece = fc.constantFrom(...hosts, ...marks)
    const start = fc.constantFrom(
      'https://app.example.com',
      'https://login.example.com',
      'https://',
      'http://',
      '/',
      '',
    )
    let acceptedCount = 0
    fc.assert(
      fc.property(
        start,
        fc.array(piece, { maxLength: 6 }),
        fc.boolean(),
        (beginning, pieces, isOurs) => {
          const dashboard = isOurs ? `${origin}/dashboard` : dashboardUrl
          const destination = nextDestination(
            beginning + pieces.join(''),
            origin,
            dashboard,
          )
          if (destination === null) return
          acceptedCount++
          const {
            origin: target,
            username,
            password,
            pathname,
          } = new URL(destination, origin)
          expect([origin, new URL(dashboard).origin]).toContain(target)
          expect(username + password).toBe('')
          if (target === origin)
            expect(decodeURIComponent(pathname)).not.toMatch(/^\/(sso|\/|\\)/)
        },
      ),
      { numRuns: 2_000 },
    )
    expect(acceptedCount).toBeGreaterThan(200)
  })
})

test('rejects values that would be too long as a parameter of a URL', () => {
  const fits = {
    path: `/${'ü'.repeat(189)}`,
    url: `https://app.example.com/${'x'.repeat(1_895 - 32)}`,
  }
  const start = '/api/auth/authorize?state='
  const authorize =
    start + 'x'.repeat(7_500 - `${new URLSearchParams({ next: start })}`.length)
  for (const next of [fits.path, fits.url, authorize])
    expect(nextDestination(next, origin, dashboardUrl)).toBe(
      new URL(next, origin).href.replace(origin, ''),
    )
  for (const next of [`${fits.path}ü`, `${fits.url}x`, `${authorize}x`])
    expect(nextDestination(next, origin, dashboardUrl)).toBeNull()
})

test('leaves out a fragment that makes a value too long', () => {
  for (const next of ['/reports?year=2026', 'https://app.example.com/reports']) {
    const fragment = `#${'x'.repeat(2_000)}`
    expect(nextDestination(`${next}#short`, origin, dashboardUrl)).toBe(`${next}#short`)
    expect(nextDestination(next + fragment, origin, dashboardUrl)).toBe(next)
  }
  expect(nextDestination('/sso/callback#x', origin, dashboardUrl)).toBeNull()
})

const signInUrls: Record<string, [next: string, withAnother: string]> = {
  '/sign-in': ['/sign-in?next=%2Fa%23b', '/sign-in?another&next=%2Fa%23b'],
  '/sign-in?connection=acme': [
    '/sign-in?connection=acme&next=%2Fa%23b',
    '/sign-in?connection=acme&next=%2Fa%23b',
  ],
  '/api/auth/sso/acme/start': [
    '/api/auth/sso/acme/start?next=%2Fa%23b',
    '/api/auth/sso/acme/start?next=%2Fa%23b',
  ],
  '/sign-in-elsewhere': ['/sign-in-elsewhere', '/sign-in-elsewhere'],
  '/api/auth/sso/acme/start/x': [
    '/api/auth/sso/acme/start/x',
    '/api/auth/sso/acme/start/x',
  ],
  'https://www.example.com/sign-in': [
    'https://www.example.com/sign-in',
    'https://www.example.com/sign-in',
  ],
}
for (const [url, [withNext, withAnother]] of Object.entries(signInUrls))
  test(`the destination is added to SIGN_IN_URL=${url} only if it is ours`, () => {
    expect(signInPageUrl(url, null)).toBe(url)
    expect(signInPageUrl(url, '/a#b')).toBe(withNext)
    expect(signInPageUrl(url, '/a#b', { another: true })).toBe(withAnother)
  })

test('the destination is added to the forgot-password page only if it is ours', () => {
  const ours = '/forgot-password'
  expect(forgotPasswordPageUrl(ours, null)).toBe(ours)
  expect(forgotPasswordPageUrl(ours, null, 'sent')).toBe(`${ours}?sent`)
  expect(forgotPasswordPageUrl(ours, '/a#b')).toBe(`${ours}?next=%2Fa%23b`)
  expect(forgotPasswordPageUrl(ours, '/a', 'invalid')).toBe(`${ours}?invalid&next=%2Fa`)
  const theirs = 'https://www.example.com/forgot-password'
  expect(forgotPasswordPageUrl(theirs, '/a')).toBe(theirs)
})

test('a value that is too long is rejected before it is parsed, because parsing would take ten times as long', () => {
  const host = Array.from({ length: 2_000 }, (_, index) =>
    String.fromCodePoint(0x4e00 + index),
  ).join('')
  const cpuOf = (work: () => unknown) => {
    const before = process.cpuUsage()
    for (let repetition = 0; repetition < 3; repetition++) work()
    const { user, system } = process.cpuUsage(before)
    return user + system
  }
  for (const next of [`https://${host}.org/`, `//${host}.org/`, `https:////${host}/`]) {
    const parsing = cpuOf(() => URL.canParse(next, 'https://login.example.com'))
    const rejecting = cpuOf(() =>
      nextDestination(next, 'https://login.example.com', 'https://www.example.com/'),
    )
    expect(rejecting).toBeLessThan(parsing / 10)
  }
})
