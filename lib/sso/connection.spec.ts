import { domainToASCII } from 'node:url'
import { afterEach, expect, test, vi } from 'vitest'
import { parseSettings, readDomain } from './connection'

afterEach(() => vi.unstubAllEnvs())

test('an error about stored settings is a sentence with the connection and the setting', () => {
  const oidc = { kind: 'oidc', issuer: 'http://127.0.0.1:4300', clientId: 'x' }
  expect(parseSettings('local', oidc)).toEqual(oidc)
  vi.stubEnv('PUBLIC_URL', 'https://localhost:3443') // both are on this machine
  expect(parseSettings('local', oidc)).toEqual(oidc)
  vi.stubEnv('PUBLIC_URL', 'https://login.example.com') // now the issuer must have https
  for (const [settings, problem] of [
    [oidc, 'its setting issuer must begin with https://'],
    [{ ...oidc, issuer: 'x' }, 'its setting issuer must be a URL that begins with'],
    [{ kind: 'saml', issuer: 'x' }, 'its setting ssoUrl '],
  ] as const)
    expect(() => parseSettings('acme', settings)).toThrow(
      new RegExp(
        `^The connection acme can’t be used: [^{}\\[\\]]*${problem}[^{}\\[\\]]*\\.$`,
      ),
    )
})

test('returns the domain of an email address in ASCII', () => {
  expect(readDomain('ada@Bücher.example')).toBe('xn--bcher-kva.example')
  expect(readDomain(`ada@${'ü'.repeat(40)}.example`)).toMatch(/^xn--/)
  expect(readDomain('ada@example\u3002org')).toBe('example.org')
  expect(readDomain('ADA@FAẞ.EXAMPLE')).toBe('xn--fa-hia.example')
  const withoutDomain = [
    'ada',
    'ada@',
    'ada@localhost',
    'ada@exa mple.org',
    `ada@${'a.'.repeat(200)}org`,
  ]
  const ofUrls = [
    'ada@example.org/x',
    'ada@example.org?x',
    'ada@example.org#x',
    'ada@%65xample.org',
  ]
  const invisible = [
    'ada@ example.org',
    'ada@example.org\n',
    'ada@exam\tple.org',
    'ada@exam\u00adple.org',
  ]
  const likeOthers = ['ada@xn---r8jz45g.jp', 'ada@xn--example-.org']
  for (const email of [...withoutDomain, ...ofUrls, ...invisible, ...likeOthers])
    expect(readDomain(email), email).toBeNull()
})

test('a domain that is too long is rejected without a conversion, which would be ten times slower', () => {
  const domain = `${Array.from({ length: 2_000 }, (_, index) => String.fromCodePoint(0x4e00 + index)).join('')}.org`
  const cpuOf = (work: () => unknown) => {
    const before = process.cpuUsage()
    for (let repetition = 0; repetition < 3; repetition++) work()
    const { user, system } = process.cpuUsage(before)
    return user + system
  }
  const converting = cpuOf(() => domainToASCII(domain))
  expect(cpuOf(() => readDomain(`ada@${domain}`))).toBeLessThan(converting / 10)
})
