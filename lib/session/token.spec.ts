import { createPublicKey, randomUUID } from 'node:crypto'
import { SignJWT } from 'jose'
import { expect, test } from 'playwright/test'
import { lifetimes } from '../contract/lifetimes'
import { env } from '../settings/env'
import { newSigningKeys, parseSigningKeys } from '../settings/signing-keys'
import { signSessionToken, verifySessionToken } from './token'

const now = () => Math.floor(Date.now() / 1000)
const subject = { userId: randomUUID(), sessionId: randomUUID() }

type Changes = {
  claims?: Record<string, unknown>
  header?: Record<string, unknown>
  key?: Parameters<SignJWT['sign']>[0]
}

/** A token like ours, with something different. A claim that is undefined is left out. */
async function almost({ claims, header, key }: Changes): Promise<string> {
  const { kid, privateKey } = env().SESSION_SIGNING_KEYS
  const usual = {
    iss: env().PUBLIC_URL,
    aud: env().SESSION_AUDIENCE,
    sub: subject.userId,
    sid: subject.sessionId,
    jti: randomUUID(),
    iat: now(),
    exp: now() + lifetimes.sessionToken,
  }
  return new SignJWT({ ...usual, ...claims })
    .setProtectedHeader({ alg: 'ES256', typ: 'JWT', kid, ...header })
    .sign(key ?? privateKey)
}

test('a token of ours is verified', async () => {
  expect(await verifySessionToken(await signSessionToken({ ...subject, issuedAt: now() }))).toEqual(subject)
  expect(await verifySessionToken(await almost({}))).toEqual(subject)
})

const refused: Record<string, () => Promise<string> | string> = {
  'an expired one': () => signSessionToken({ ...subject, issuedAt: now() - lifetimes.sessionToken - 1 }),
  'another issuer': () => almost({ claims: { iss: 'https://elsewhere.example' } }),
  'another audience': () => almost({ claims: { aud: 'widget' } }),
  'another type': () => almost({ header: { typ: 'at+jwt' } }),
  'no type': () => almost({ header: { typ: undefined } }),
  'another key': () => almost({ key: parseSigningKeys(newSigningKeys()).privateKey }),
  'no subject': () => almost({ claims: { sub: undefined } }),
  'no session': () => almost({ claims: { sid: undefined } }),
  'no id': () => almost({ claims: { jti: undefined } }),
  'no end': () => almost({ claims: { exp: undefined } }),
  'no signature': async () => (await almost({})).replace(/[^.]*$/, ''),
  'the algorithm none': async () => {
    const [, claims] = (await almost({})).split('.')
    return `${Buffer.from('{"alg":"none","typ":"JWT"}').toString('base64url')}.${claims}.`
  },
  'our public key as an HMAC secret': async () => {
    const pem = createPublicKey({ key: env().SESSION_SIGNING_KEYS.published[0]!, format: 'jwk' }).export({
      type: 'spki',
      format: 'pem',
    })
    return almost({ header: { alg: 'HS256' }, key: new TextEncoder().encode(String(pem)) })
  },
  'no token at all': () => 'x',
}
for (const [what, make] of Object.entries(refused)) {
  test(`${what} is refused`, async () => expect(await verifySessionToken(await make())).toBeNull())
}
