import { randomUUID } from 'node:crypto'
import { afterEach, expect, test, vi } from 'vitest'
import { ConnectionSettings } from '../connection'

afterEach(() => {
  vi.unstubAllEnvs()
})

const oidc = (settings: object) =>
  ConnectionSettings.safeParse({
    kind: 'oidc',
    issuer: 'https://idp.example.com',
    clientId: 'x',
    ...settings,
  }).success

test('the settings reject an issuer whose users can’t all be trusted', () => {
  expect(oidc({})).toBe(true)
  expect(oidc({ issuer: 'http://localhost:8080' })).toBe(true) // because PUBLIC_URL has http here
  for (const issuer of [
    'http://idp.example.com',
    'https://idp.example.com/.well-known/openid-configuration',
    'https://idp.example.com/?x=y',
    'idp.example.com',
  ])
    expect(oidc({ issuer }), issuer).toBe(false)
  const tenant = randomUUID()
  for (const path of [
    '/common/v2.0',
    '/organizations/v2.0',
    '/%63ommon/v2.0',
    `/${tenant}/../common/v2.0`,
    `/${tenant}%2f..%2fcommon/v2.0`,
    '/9188040d-6c67-4c5b-b112-36a304b66dad/v2.0', // the tenant of personal Microsoft accounts
    '/',
  ]) {
    const issuer = `https://login.microsoftonline.com${path}`
    expect(oidc({ issuer }), issuer).toBe(false)
    expect(oidc({ issuer, tenants: [] }), issuer).toBe(false)
    expect(oidc({ issuer, tenants: [tenant] }), issuer).toBe(true)
  }
  for (const path of [
    `/${tenant}/v2.0`,
    `/${tenant.toUpperCase()}/v2.0`,
    `/common/../${tenant}/v2.0`,
  ])
    expect(oidc({ issuer: `https://login.microsoftonline.com${path}` }), path).toBe(true)
  const entra = {
    issuer: 'https://login.microsoftonline.com/common/v2.0',
    emailClaim: 'upn',
  }
  expect(oidc({ ...entra, tenants: [tenant] })).toBe(true)
  expect(oidc({ ...entra, tenants: [tenant, randomUUID()] })).toBe(false)
  expect(oidc({ ...entra, tenants: [tenant], trustClaim: true })).toBe(true)
  expect(oidc({ trustClaim: true })).toBe(false)
  expect(oidc({ kind: 'ldap' })).toBe(false)
  expect(oidc({ more: 1 })).toBe(false)
  vi.stubEnv('PUBLIC_URL', 'https://login.example.com')
  expect(oidc({ issuer: 'http://localhost:8080' })).toBe(false)
})
