import { createLocalJWKSet, jwtVerify } from 'jose'
import { expect, test } from 'vitest'
import {
  newSigningKeys,
  parseIdTokenKeys,
  parseSigningKeys,
} from '../settings/signing-keys'
import { signJwt } from './token'

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
