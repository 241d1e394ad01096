// Verifies what authenticators return. The library verifies, and here are the rules in
// which it accepts more (docs/decisions/0026-passkeys.md). It is loaded on the first use.
import { createHash } from 'node:crypto'
import type { Check } from '../contract/checks'
import { env } from '../settings/env'
import { decodeBase64url } from './base64url'

/** ES256, Ed25519 and RS256, in the order of preference (RFC 9053, RFC 8812). */
export const algorithms = [-7, -8, -257]

/** For each algorithm, the type and the curve of its keys in COSE. */
const keyShapes: Record<number, { type: number; curve?: number }> = {
  [-7]: { type: 2, curve: 1 },
  [-8]: { type: 1, curve: 6 },
  [-257]: { type: 3 },
}
const labels = { type: 1, algorithm: 3, curve: -1 } as const // RFC 9052 §7.1

const maxDepth = 4 // of CBOR: the attestation object, its statement, a list of certificates
const maxCredentialIdBytes = 1_023
const rpIdHashBytes = 32

/** The `AuthenticatorAssertionResponse` of a browser. Bytes are in base64url. */
export type Assertion = {
  id: string
  clientDataJSON: string
  authenticatorData: string
  signature: string
}

/** The `AuthenticatorAttestationResponse` of a browser. Bytes are in base64url. */
export type Attestation = {
  id: string
  clientDataJSON: string
  attestationObject: string
}

/** The domain to which passkeys belong (WebAuthn: the RP ID). */
export function passkeyDomain(): string {
  const { PASSKEY_DOMAIN, PUBLIC_URL } = env()
  return PASSKEY_DOMAIN ?? new URL(PUBLIC_URL).hostname
}

/** Returns the unverified challenge in a `clientDataJSON`, or '' if there is none. */
export function readChallengeText(clientDataJSON: string): string {
  const challenge = readClientData(clientDataJSON)?.challenge
  return typeof challenge === 'string' ? challenge : ''
}

/** What a valid registration states about a new passkey. */
export type Registration = {
  credentialId: Buffer<ArrayBuffer>
  publicKey: Uint8Array<ArrayBuffer> // COSE
  signCount: number
  isBackupEligible: boolean
  isBackedUp: boolean
  aaguid: string
}

/**
 * Verifies a registration (WebAuthn Level 3, §7.1) for this challenge. Ignores who attests
 * the authenticator. Returns what it states, or why it is rejected.
 */
export async function readRegistration(
  given: Attestation,
  challenge: string,
): Promise<Registration | Check> {
  const problem = checkClientData(given.clientDataJSON, 'webauthn.create')
  if (problem) return problem

  // outside `try`, because an error of these is ours
  const [{ verifyRegistrationResponse }, helpers] = await loadLibrary()

  try {
    const authData = readAuthenticatorData(given.attestationObject, helpers)
    if (!authData) return 'passkey_format'
    if (!isOfDomain(authData)) return 'passkey_origin'

    const { registrationInfo: info } = await verifyRegistrationResponse({
      response: {
        ...commonParts(given.id),
        response: {
          clientDataJSON: given.clientDataJSON,
          attestationObject: withoutStatement(authData, helpers),
        },
      },
      expectedChallenge: challenge,
      expectedOrigin: env().PUBLIC_URL,
      expectedRPID: passkeyDomain(),
      requireUserVerification: false, // checked below, for its own reason
      supportedAlgorithmIDs: algorithms,
    })
    if (!info) return 'passkey_format'

    const { credential, aaguid, credentialDeviceType, credentialBackedUp } = info
    const credentialId = decodeBase64url(credential.id)
    if (credential.id !== given.id || !credentialId) return 'passkey_format'
    if (credentialId.length > maxCredentialIdBytes) return 'passkey_format'
    // the library repairs a key that is cut off
    const publicKey = Buffer.from(credential.publicKey)
    if (!Buffer.from(authData).includes(publicKey)) return 'passkey_format'
    if (!hasShapeOfAlgorithm(credential.publicKey, helpers)) return 'passkey_format'
    if (!info.userVerified) return 'passkey_user_verification'

    return {
      credentialId,
      publicKey: credential.publicKey,
      signCount: credential.counter,
      isBackupEligible: credentialDeviceType === 'multiDevice',
      isBackedUp: credentialBackedUp,
      aaguid,
    }
  } catch {
    return 'passkey_format'
  }
}

/** A passkey as it was stored, with its public key in COSE. */
export type StoredKey = {
  publicKey: Uint8Array<ArrayBuffer>
  isBackupEligible: boolean
}

/**
 * Verifies an assertion (WebAuthn Level 3, §7.2) for this challenge with a stored key.
 * Returns its counter and its backup state, or why it is rejected. Does not compare the
 * counter.
 */
export async function verifyAssertion(
  given: Assertion,
  challenge: string,
  stored: StoredKey,
): Promise<{ signCount: number; isBackedUp: boolean } | Check> {
  const problem = checkClientData(given.clientDataJSON, 'webauthn.get')
  if (problem) return problem

  const authData = decodeBase64url(given.authenticatorData)
  const signature = decodeBase64url(given.signature)
  if (!authData || !signature) return 'passkey_format'
  if (!isOfDomain(authData)) return 'passkey_origin'

  // outside `try`, because an error of these is ours
  const [{ verifyAuthenticationResponse }, helpers] = await loadLibrary()

  try {
    // the library ignores what follows the signature
    if (isElliptic(stored.publicKey, helpers) && !isWholeSignature(signature))
      return 'passkey_signature'

    const { clientDataJSON, authenticatorData } = given
    const { verified, authenticationInfo: info } = await verifyAuthenticationResponse({
      response: {
        ...commonParts(given.id),
        response: { clientDataJSON, authenticatorData, signature: given.signature },
      },
      expectedChallenge: challenge,
      expectedOrigin: env().PUBLIC_URL,
      expectedRPID: passkeyDomain(),
      // 0: the statement that uses the passkey compares the counter
      credential: { id: given.id, publicKey: stored.publicKey, counter: 0 },
      requireUserVerification: false, // checked below, for its own reason
    })
    if (!verified) return 'passkey_signature'
    if ((info.credentialDeviceType === 'multiDevice') !== stored.isBackupEligible)
      return 'passkey_format'
    if (!info.userVerified) return 'passkey_user_verification'

    return { signCount: info.newCounter, isBackedUp: info.credentialBackedUp }
  } catch {
    return 'passkey_signature'
  }
}

type Helpers = typeof import('@simplewebauthn/server/helpers')

function loadLibrary() {
  return Promise.all([
    import('@simplewebauthn/server'),
    import('@simplewebauthn/server/helpers'),
  ])
}

/** The parts of a response that the library demands, and that never differ. */
function commonParts(id: string) {
  return { id, rawId: id, type: 'public-key', clientExtensionResults: {} } as const
}

function readClientData(encoded: string): Record<string, unknown> | null {
  const bytes = decodeBase64url(encoded)
  if (!bytes) return null

  try {
    const parsed = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
    return typeof parsed === 'object' ? parsed : null
  } catch {
    return null
  }
}

/** Checks the kind of a response, and that no other page asked for it. */
function checkClientData(encoded: string, type: string): Check | null {
  const data = readClientData(encoded)
  if (data?.type !== type) return 'passkey_format'

  const { origin, crossOrigin = false, topOrigin } = data
  const isOurs = origin === env().PUBLIC_URL && crossOrigin === false
  return isOurs && topOrigin === undefined ? null : 'passkey_origin'
}

/** Whether the authenticator has made its data for our domain. */
function isOfDomain(authData: Uint8Array): boolean {
  const expected = createHash('sha256').update(passkeyDomain()).digest()
  return expected.equals(authData.subarray(0, rpIdHashBytes))
}

/**
 * Returns the authenticator data of an attestation object, or null if its CBOR breaks a
 * rule: it is not in its shortest form, is cut off or too deep, or something follows it.
 */
function readAuthenticatorData(
  attestationObject: string,
  { isoCBOR }: Helpers,
): Uint8Array<ArrayBuffer> | null {
  const bytes = decodeBase64url(attestationObject)
  if (!bytes) return null

  const decoded: unknown = isoCBOR.decodeFirst(bytes)
  if (!(decoded instanceof Map) || measureDepth(decoded) > maxDepth) return null
  if (!bytes.equals(isoCBOR.encode(decoded))) return null

  const authData = decoded.get('authData')
  return authData instanceof Uint8Array ? (authData as Uint8Array<ArrayBuffer>) : null
}

function measureDepth(item: unknown): number {
  const isContainer = item instanceof Map || Array.isArray(item)
  return isContainer ? 1 + Math.max(0, ...[...item.values()].map(measureDepth)) : 0
}

/** Returns an attestation object in base64url that states nothing about who attests. */
function withoutStatement(
  authData: Uint8Array<ArrayBuffer>,
  { isoCBOR, isoBase64URL }: Helpers,
): string {
  const parts = new Map<string, string | Map<string, string> | Uint8Array<ArrayBuffer>>([
    ['fmt', 'none'],
    ['attStmt', new Map()],
    ['authData', authData],
  ])
  return isoBase64URL.fromBuffer(isoCBOR.encode(parts) as Uint8Array<ArrayBuffer>)
}

function isElliptic(publicKey: Uint8Array<ArrayBuffer>, { isoCBOR }: Helpers): boolean {
  const key = isoCBOR.decodeFirst(publicKey) as Map<number, unknown>
  return key.get(labels.type) === 2
}

/** Whether the bytes are two integers in DER (RFC 3279 §2.2.3), with nothing after them. */
function isWholeSignature(signature: Buffer): boolean {
  const [sequence, length, first, firstLength = 0] = signature
  const [second, secondLength = 0] = signature.subarray(4 + firstLength)

  return (
    sequence === 0x30 &&
    length === signature.length - 2 &&
    first === 0x02 &&
    second === 0x02 &&
    signature.length === 6 + firstLength + secondLength
  )
}

/** Whether a key in COSE has the type and the curve of its algorithm. */
function hasShapeOfAlgorithm(
  publicKey: Uint8Array<ArrayBuffer>,
  { isoCBOR }: Helpers,
): boolean {
  const key = isoCBOR.decodeFirst(publicKey) as Map<number, unknown>
  const shape = keyShapes[key.get(labels.algorithm) as number]
  if (!shape || key.get(labels.type) !== shape.type) return false

  return shape.curve === undefined || key.get(labels.curve) === shape.curve
}
