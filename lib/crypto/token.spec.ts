import { createLocalJWKSet, jwtVerify } from 'jose'
import { expect, test } from 'vitest'
import {
  newSigningKeys,
  parseIdTokenKeys,
  parseSigningKeys,
} from '../settings/signing-keys'
import { hashSecret, newIssuedSecret, signJwt } from './token'

const keys = {
  ES256: parseSigningKeys(newSigningKeys()),
  RS256: parseIdTokenKeys(newSigningKeys('RS256')),
}
for (const [algorithm, signing] of Object.entries(keys))
  test(`a JWT is signed with ${algorithm} if the keys are for it, and names its key`, async () => {
    const jwt = signJwt('JWT', { sub: 'ada' }, signing)
    const jwks = createLocalJWKSet({ keys: signing.published })
    const { payload, protectedHeader } = await jwtVerify(jwt, jwks, {
      algorithms: [algorithm],
    })
    expect(payload).toEqual({ sub: 'ada' })
    expect(protectedHeader).toEqual({ alg: algorithm, typ: 'JWT', kid: signing.kid })
  })

test('an issued secret has its prefix, and the hint that identifies it in a command does not look like a flag', () => {
  const issued = Array.from({ length: 2_000 }, () => newIssuedSecret('cs_'))
  for (const { secret, hash, hint } of issued) {
    expect(secret).toMatch(/^cs_[\w-]{43}$/)
    expect(hash).toEqual(hashSecret(secret))
    expect(secret.slice(-4)).toBe(hint)
    expect(hint).toMatch(/^\w/)
  }
})
