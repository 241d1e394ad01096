import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { env } from '../settings/env'
import { findProvider } from './names'
import {
  passkeyDomain,
  readChallengeText,
  readRegistration,
  verifyAssertion,
} from './webauthn'
import vectors from './webauthn-vectors.json'

// The test vectors of Web Authentication Level 3 (§16, editor's draft of July 2026), in
// base64url. Their origin is https://example.org.
const { PUBLIC_URL } = env()
beforeAll(() => {
  env().PUBLIC_URL = 'https://example.org'
})
afterAll(() => {
  env().PUBLIC_URL = PUBLIC_URL
})

type Vector = (typeof vectors)[number]

const find = (name: string) => vectors.find((vector) => vector.name === name)!

async function run({ registration, authentication }: Vector) {
  const { challenge, credentialId: id, ...attestation } = registration
  const registered = await readRegistration({ id, ...attestation }, challenge)
  if (typeof registered === 'string') return { registered, verified: null }

  const { challenge: second, ...assertion } = authentication
  const verified = await verifyAssertion({ id, ...assertion }, second, registered)
  return { registered, verified }
}

/** The bit 4 of the flags, after 32 bytes: whether the user was verified. */
const isVerifiedIn = (authenticatorData: string) =>
  (Buffer.from(authenticatorData, 'base64url')[32]! & 4) !== 0

/** The same authenticator data, with the user verified in the registration. */
const rejected: Record<string, string> = {
  'packed-es384': 'passkey_format',
  'packed-es512': 'passkey_format',
  'packed-ed448': 'passkey_format',
  'none-es256-crossOrigin': 'passkey_origin',
  'none-es256-topOrigin': 'passkey_origin',
}

test('accepts the vectors of WebAuthn whose algorithm is supported and whose user is verified', async () => {
  const found: Record<string, string> = {}
  const expected: Record<string, string> = {}

  for (const vector of vectors) {
    const { name, registration, authentication } = vector
    const { registered, verified } = await run(vector)
    found[name] = [registered, verified]
      .map((each) => (typeof each === 'object' ? (each ? 'ok' : '-') : each))
      .join()

    const attested = Buffer.from(registration.attestationObject, 'base64url')
    const authData = attested.subarray(attested.indexOf('authData') + 10)
    const hash = Buffer.from(authentication.authenticatorData, 'base64url').subarray(
      0,
      32,
    )
    const isVerified = (authData[authData.indexOf(hash) + 32]! & 4) !== 0
    const unverified = 'passkey_user_verification'

    if (rejected[name]) expected[name] = `${rejected[name]},-`
    else if (!isVerified) expected[name] = `${unverified},-`
    else
      expected[name] = isVerifiedIn(authentication.authenticatorData)
        ? 'ok,ok'
        : `ok,${unverified}`
  }

  expect(found).toEqual(expected)
  expect(Object.values(found)).toContain('ok,ok')
})

test('verifies the assertion of each vector whose algorithm is supported, apart from user verification', async () => {
  const { decodeAttestationObject, parseAuthenticatorData } = await import(
    '@simplewebauthn/server/helpers'
  )
  const algorithms = new Set<string>()

  for (const { name, registration, authentication } of vectors) {
    if (rejected[name]) continue

    const object = Buffer.from(registration.attestationObject, 'base64url')
    const parsed = parseAuthenticatorData(
      decodeAttestationObject(new Uint8Array(object)).get('authData'),
    )
    const stored = {
      publicKey: new Uint8Array(parsed.credentialPublicKey!),
      isBackupEligible: parsed.flags.be,
    }
    const { challenge, ...assertion } = authentication
    const given = { id: registration.credentialId, ...assertion }
    const isVerified = isVerifiedIn(assertion.authenticatorData)
    expect(await verifyAssertion(given, challenge, stored), name).toEqual(
      isVerified
        ? { signCount: 0, isBackedUp: expect.any(Boolean) }
        : 'passkey_user_verification',
    )
    algorithms.add(name.split('-').slice(0, 2).join('-'))

    // the signature of another vector
    const wrong = { ...given, signature: find('none-es256').authentication.signature }
    if (name !== 'none-es256')
      expect(await verifyAssertion(wrong, challenge, stored), name).toBe(
        'passkey_signature',
      )
  }

  expect(algorithms.size).toBeGreaterThanOrEqual(6)
})

/** A vector whose registration and assertion are accepted. */
async function findAccepted(): Promise<Vector> {
  for (const vector of vectors) {
    const { verified } = await run(vector)
    if (typeof verified === 'object' && verified) return vector
  }
  throw new Error('no vector is accepted')
}

test('accepts no mutated document, and never throws', async () => {
  const { registration, authentication } = await findAccepted()
  const { challenge, credentialId: id, ...attestation } = registration
  const registered = await readRegistration({ id, ...attestation }, challenge)
  if (typeof registered === 'string') throw new Error(registered)

  /** A document in which bytes are replaced, removed or inserted. */
  const mutated = (document: string) => {
    const bytes = Buffer.from(document, 'base64url')
    return fc
      .record({
        at: fc.nat(bytes.length - 1),
        removed: fc.nat(3),
        inserted: fc.uint8Array({ maxLength: 3 }),
      })
      .map(({ at, removed, inserted }) =>
        Buffer.concat([
          bytes.subarray(0, at),
          inserted,
          bytes.subarray(at + removed),
        ]).toString('base64url'),
      )
  }

  const { challenge: second, ...assertion } = authentication
  const given = { id, ...assertion }
  for (const name of ['clientDataJSON', 'authenticatorData', 'signature'] as const)
    await fc.assert(
      fc.asyncProperty(mutated(assertion[name]), async (changed) => {
        if (changed === assertion[name]) return
        const verdict = await verifyAssertion(
          { ...given, [name]: changed },
          second,
          registered,
        )
        expect(verdict).toMatch(/^passkey_/)
      }),
      { numRuns: 800 },
    )

  // the key and the ID can change without a rejection, because nothing signs them
  for (const name of ['clientDataJSON', 'attestationObject'] as const)
    await fc.assert(
      fc.asyncProperty(mutated(attestation[name]), async (changed) => {
        const verdict = await readRegistration(
          { id, ...attestation, [name]: changed },
          challenge,
        )
        if (typeof verdict === 'string') return
        expect(verdict.credentialId.toString('base64url')).toBe(id)
        expect(readChallengeText(attestation.clientDataJSON)).toBe(challenge)
      }),
      { numRuns: 800 },
    )
})

test('accepts CBOR only in its shortest form, not too deep, and with nothing after it', async () => {
  const { registration } = await findAccepted()
  const { challenge, credentialId: id, clientDataJSON, attestationObject } = registration
  const bytes = Buffer.from(attestationObject, 'base64url')
  const read = (changed: Buffer) =>
    readRegistration(
      { id, clientDataJSON, attestationObject: changed.toString('base64url') },
      challenge,
    )
  expect(await read(bytes)).toMatchObject({ credentialId: Buffer.from(id, 'base64url') })

  const nested = (depth: number) =>
    Buffer.concat([
      Buffer.from([0xa4]),
      bytes.subarray(1),
      Buffer.from([0x61, 0x78]), // "x"
      Buffer.alloc(depth, 0x81), // lists of one item
      Buffer.from([0]),
    ])
  expect(await read(nested(3))).toMatchObject({ signCount: 0 })
  const broken: Record<string, Buffer> = {
    'five levels': nested(4),
    'a thousand levels': nested(1_000),
    'something after it': Buffer.concat([bytes, Buffer.from([0])]),
    'an indefinite length': Buffer.concat([
      Buffer.from([0xbf]),
      bytes.subarray(1),
      Buffer.from([0xff]),
    ]),
    'a longer form of a length': Buffer.concat([
      Buffer.from([0xb8, 3]),
      bytes.subarray(1),
    ]),
    'a key twice': Buffer.concat([
      Buffer.from([0xa4]),
      bytes.subarray(1),
      Buffer.from([0x63]),
      Buffer.from('fmt'),
      Buffer.from([0]),
    ]),
    'a key that is cut off': Buffer.concat([
      ...[bytes.subarray(0, -165), Buffer.from([163]), bytes.subarray(-164, -1)],
    ]),
    'no map': Buffer.from([0x80]),
    'cut off': bytes.subarray(0, -1),
  }
  for (const [what, changed] of Object.entries(broken))
    expect(await read(changed), what).toBe('passkey_format')
})

test('passkeys belong to PASSKEY_DOMAIN, by default the host of PUBLIC_URL', () => {
  expect(passkeyDomain()).toBe('example.org')
  env().PASSKEY_DOMAIN = 'org'
  expect(passkeyDomain()).toBe('org')
  delete env().PASSKEY_DOMAIN
})

test('knows password managers by their AAGUID', () => {
  expect(findProvider('ea9b8d66-4d01-1d21-3ce4-b6b48cb575d4')).toBe(
    'Google Password Manager',
  )
  expect(findProvider('00000000-0000-0000-0000-000000000000')).toBeNull()
})
