import { createPublicKey, randomUUID } from 'node:crypto'
import { decodeJwt, SignJWT } from 'jose'
import { expect, test } from 'vitest'
import { lifetimes } from '../contract/lifetimes'
import { env } from '../settings/env'
import { newSigningKeys, parseSigningKeys } from '../settings/signing-keys'
import { issueTokens, signSessionToken, verifySessionToken } from './tokens'

const now = () => Math.floor(Date.now() / 1000)
const subject = { userId: randomUUID(), sessionId: randomUUID() }
const claims = {
  ...subject,
  email: 'ada@example.com',
  connection: null,
  authenticatedAt: now() - 60,
  amr: null,
}

type Changes = {
  claims?: Record<string, unknown>
  header?: Record<string, unknown>
  key?: Parameters<SignJWT['sign']>[0]
}

/** Returns a valid token with changed claims. Omits claims that are undefined. */
async function sessionToken({ claims, header, key }: Changes): Promise<string> {
  const { kid, privateKey } = env().SESSION_SIGNING_KEYS
  const defaults = {
    iss: env().PUBLIC_URL,
    aud: env().SESSION_AUDIENCE,
    sub: subject.userId,
    sid: subject.sessionId,
    jti: randomUUID(),
    iat: now(),
    exp: now() + lifetimes.sessionToken,
  }
  return new SignJWT({ ...defaults, ...claims })
    .setProtectedHeader({ alg: 'ES256', typ: 'JWT', kid, ...header })
    .sign(key ?? privateKey)
}

test('a token contains the email address, and the time, the connection and the methods of the sign-in', () => {
  const times = { issuedAt: now(), expiresAt: now() + 60 }
  const payload = (more: object) =>
    decodeJwt(signSessionToken({ ...claims, ...more, ...times }))
  const always = { email: 'ada@example.com', auth_time: claims.authenticatedAt }
  const known = { connection: 'acme', amr: ['pwd', 'mfa'] }
  expect(payload(known)).toMatchObject({ ...always, ...known })
  expect(payload({})).toMatchObject(always)
  for (const claim of Object.keys(known)) expect(payload({})).not.toHaveProperty(claim)
})

test('a token of an operator has the claim act, and never amr', () => {
  const times = { issuedAt: now(), expiresAt: now() + 60 }
  const payload = (method: string) =>
    decodeJwt(signSessionToken({ ...claims, amr: ['pwd'], method, ...times }))
  expect(payload('operator')).toMatchObject({ act: { sub: 'operator' } })
  expect(payload('operator')).not.toHaveProperty('amr')
  expect(payload('password')).toMatchObject({ amr: ['pwd'] })
  expect(payload('password')).not.toHaveProperty('act')
})

test('a token lives for 12 hours, or for half of SESSION_IDLE_MINUTES, or as its client has chosen, whichever is less', () => {
  const week = lifetimes.session
  const cases = [
    [undefined, null, week, 12 * 3_600],
    [undefined, 5, week, 300],
    [60, null, week, 1_800],
    [60, 5, week, 300],
    [60, null, 100, 100],
    [10_080, null, week, 12 * 3_600],
  ] as const

  try {
    for (const [idleMinutes, tokenMinutes, seconds, expected] of cases) {
      env().SESSION_IDLE_MINUTES = idleMinutes
      const times = { now: now(), endsAt: now() + seconds }
      const session = { ...claims, method: null, generation: 0, ...times }
      const { token, tokenSeconds } = issueTokens({ ...session, tokenMinutes })
      const { iat, exp } = decodeJwt(token)
      expect([tokenSeconds, exp! - iat!]).toEqual([expected, expected])
    }
  } finally {
    env().SESSION_IDLE_MINUTES = undefined
  }
})

test('a token of this service is accepted', async () => {
  const expiresAt = now() + 60
  const verified = { ...subject, expiresAt: new Date(expiresAt * 1000) }
  expect(
    await verifySessionToken(signSessionToken({ ...claims, issuedAt: now(), expiresAt })),
  ).toEqual(verified)
  expect(
    await verifySessionToken(await sessionToken({ claims: { exp: expiresAt } })),
  ).toEqual(verified)
})

const rejected: Record<string, () => Promise<string> | string> = {
  'an expired token': () =>
    signSessionToken({ ...claims, issuedAt: now() - 60, expiresAt: now() - 1 }),
  'another issuer': () => sessionToken({ claims: { iss: 'https://elsewhere.example' } }),
  'another audience': () => sessionToken({ claims: { aud: 'widget' } }),
  'another type': () => sessionToken({ header: { typ: 'at+jwt' } }),
  'a missing type': () => sessionToken({ header: { typ: undefined } }),
  'another key': () =>
    sessionToken({ key: parseSigningKeys(newSigningKeys()).privateKey }),
  'a missing subject': () => sessionToken({ claims: { sub: undefined } }),
  'a missing session': () => sessionToken({ claims: { sid: undefined } }),
  'a missing ID': () => sessionToken({ claims: { jti: undefined } }),
  'a missing expiry': () => sessionToken({ claims: { exp: undefined } }),
  'a missing signature': async () => (await sessionToken({})).replace(/[^.]*$/, ''),
  'the algorithm none': async () => {
    const [, claims] = (await sessionToken({})).split('.')
    return `${Buffer.from('{"alg":"none","typ":"JWT"}').toString('base64url')}.${claims}.`
  },
  'our public key as an HMAC secret': async () => {
    const pem = createPublicKey({
      key: env().SESSION_SIGNING_KEYS.published[0]!,
      format: 'jwk',
    }).export({
      type: 'spki',
      format: 'pem',
    })
    return sessionToken({
      header: { alg: 'HS256' },
      key: new TextEncoder().encode(String(pem)),
    })
  },
  'a text that is not a token': () => 'x',
}
for (const [what, make] of Object.entries(rejected)) {
  test(`${what} is rejected`, async () =>
    expect(await verifySessionToken(await make())).toBeNull())

  const isExpired = what === 'an expired token'
  test(`${what} is ${isExpired ? 'accepted' : 'rejected'} if it may have expired`, async () =>
    expect(await verifySessionToken(await make(), { mayHaveExpired: true })).toEqual(
      isExpired ? expect.objectContaining(subject) : null,
    ))
}
