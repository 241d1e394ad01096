import { expect, test } from 'vitest'
import type { Target } from '../../lib/sso/setup/target'
import { products } from './products'
import { setupPage } from './setup-page'

const hostile = '"><script>alert(1)</script>'
const link = {
  id: '0d6e3b5c-7f3a-4bb0-8f27-0f6f2b8a1a11',
  connectionId: '1d6e3b5c-7f3a-4bb0-8f27-0f6f2b8a1a11',
  mayActivate: true,
  isLive: true,
  isChanged: true,
  isTried: true,
  triedAs: `ada${hostile}@example.com`,
  expiresAt: new Date('2026-12-08'),
}
const draft = { certificate: 'PEM', domains: ['example.com'] }
const drafted = {
  link,
  slug: 'acme',
  name: hostile,
  domains: ['example.com', hostile],
  draft,
  connection: null,
} as unknown as Target
const saved = {
  ...drafted,
  draft: null,
  connection: {
    slug: 'acme',
    settings: {
      kind: 'oidc',
      issuer: `https://idp.example.com/${hostile}`,
      clientId: hostile,
    },
    encryptedSecrets: 'encrypted-secret-of-the-client',
    disabledAt: new Date(),
    domains: [],
    trialDomains: ['example.com'],
  },
} as unknown as Target
const counts = {
  users: 120,
  linked: 2,
  linkedToOld: 0,
  linkedOnlyToOld: 0,
  mayUsePassword: 118,
  withSecondFactor: 3,
}
const effects = [
  { ...counts, domain: 'example.com', isTaken: false },
  { ...counts, domain: 'example.org', isTaken: true },
]
const open = { product: null, isLimited: false, effects: [], isTesterKnown: true }

const views = {
  closed: { state: 'closed' },
  used: { state: 'ended', isUsed: true, name: hostile },
  ended: { state: 'ended', isUsed: false, name: hostile },
  nothing: { state: 'nothing', target: saved, ...open },
  'a draft': { state: 'enter', target: drafted, ...open },
  'a draft with a product': {
    state: 'enter',
    target: drafted,
    ...open,
    product: 'entra-saml',
  },
  'a hostile product': { state: 'enter', target: drafted, ...open, product: hostile },
  'a property of every object': {
    state: 'enter',
    target: drafted,
    ...open,
    product: 'constructor',
  },
  saved: { state: 'enter', target: saved, ...open, effects },
  limited: { state: 'enter', target: saved, ...open, isLimited: true },
  renewal: { state: 'renew', target: saved, ...open },
} as const

for (const [name, view] of Object.entries(views))
  test(`the page shows ${name} without HTML of others, and without secrets`, () => {
    const html = setupPage(view as Parameters<typeof setupPage>[0], 'the-nonce')
    expect(html).not.toContain('<script>')
    expect(html).not.toContain('encrypted-secret-of-the-client')
    expect(html.match(/<h1>/g)).toHaveLength(1)
    expect(html.match(/<script nonce="the-nonce">/g)).toHaveLength(2)
    for (const [form] of html.matchAll(/<form .*?<\/form>/gs))
      expect(form).toMatch(/^<form method="post" .*<button class="button" disabled>/s)
  })

test('the page shows what applying changes, and which domain the operator has to move', () => {
  const html = setupPage(views.saved as never, 'n')
  expect(html).toContain('<li>users: 120</li><li>signed in this way: 2</li>')
  expect(html).toContain('example.org</bdi> uses another connection now')
  expect(html).toContain('Use it for everybody at example.com')
})

test('the page says what a test without a user leaves open', () => {
  const unknown = { ...views.saved, isTesterKnown: false }
  const html = setupPage(unknown as never, 'n')
  expect(html).toContain('has no user with this address yet')
  expect(html).toContain('nobody at <bdi translate="no">example.com</bdi> can sign in')
  const empty = { ...unknown, effects: [{ ...effects[0], users: 0 }] }
  expect(setupPage(empty as never, 'n')).not.toContain('can sign in any more')
  expect(setupPage(views.saved as never, 'n')).not.toContain('no user with this address')
})

test('after values are saved, the page offers only products with their protocol', () => {
  const choose = { ...views.saved, product: '' }
  const html = setupPage(choose as never, 'n')
  expect(html).toContain('product=okta-oidc')
  expect(html).not.toContain('-saml"')
  expect(html).toContain('You have saved values for OpenID Connect.')
  const other = setupPage({ ...views.saved, product: 'okta-saml' } as never, 'n')
  expect(other).toContain('Another product, with OpenID Connect')
})

test('each product names our values, and is marked unless somebody has followed its steps', () => {
  for (const [key, { protocol, values, steps, isTested, issuer }] of Object.entries(
    products,
  )) {
    expect(key.endsWith(`-${protocol}`)).toBe(true)
    expect(steps.length).toBeGreaterThan(3)
    expect(issuer !== undefined).toBe(protocol === 'oidc')
    const required = protocol === 'oidc' ? ['redirectUri'] : ['entityId', 'acsUrl']
    expect(values.map(([, value]) => value)).toEqual(expect.arrayContaining(required))

    const html = setupPage({ ...views['a draft'], product: key } as unknown as never, 'n')
    expect(html.includes('not tested in the product')).toBe(isTested === false)
  }
})
