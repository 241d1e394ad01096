import {
  createHash,
  generateKeyPairSync,
  type KeyObject,
  randomBytes,
  sign,
} from 'node:crypto'
import { keepSecret } from './secrets'

// A software authenticator: it creates passkeys and signs assertions as a browser would
// send them. Every part of a response can be replaced, so that tests can break each rule.

export type Algorithm = -7 | -8 | -257

/** Bits of the flags of authenticator data (WebAuthn Level 3, §6.1). */
export const flag = {
  present: 1,
  verified: 4,
  backupEligible: 8,
  backedUp: 16,
  attested: 64,
  extensions: 128,
} as const
const usual = flag.present | flag.verified
const synced = usual | flag.backupEligible | flag.backedUp

export type Passkey = {
  credentialId: Buffer
  privateKey: KeyObject
  publicKey: Buffer // COSE
  algorithm: Algorithm
  userHandle: string
  flags: number
  signCount: number
}

/** What a test replaces in a response. */
export type Changes = {
  type?: string
  origin?: string
  rpId?: string
  flags?: number
  signCount?: number
  clientData?: object
  userHandle?: string | undefined
  id?: string
  signature?: (signature: Buffer) => Buffer
  signWith?: KeyObject
  algorithm?: number
  format?: string
  statement?: Buffer
  attestationObject?: (bytes: Buffer) => Buffer
  authData?: (bytes: Buffer) => Buffer
}

const base64url = (bytes: Uint8Array) => Buffer.from(bytes).toString('base64url')
const sha256 = (data: string | Buffer) => createHash('sha256').update(data).digest()

/** Encodes a number, a text, bytes or a list of pairs as CBOR (RFC 8949). */
export function cbor(item: number | string | Buffer | [unknown, unknown][]): Buffer {
  if (typeof item === 'number') return item < 0 ? head(1, -1 - item) : head(0, item)
  if (typeof item === 'string')
    return Buffer.concat([head(3, Buffer.byteLength(item)), Buffer.from(item)])
  if (Buffer.isBuffer(item)) return Buffer.concat([head(2, item.length), item])

  const parts = item.flat().map((part) => cbor(part as never))
  return Buffer.concat([head(5, item.length), ...parts])
}

function head(type: number, value: number): Buffer {
  if (value < 24) return Buffer.from([(type << 5) | value])
  if (value < 256) return Buffer.from([(type << 5) | 24, value])
  return Buffer.from([(type << 5) | 25, value >> 8, value & 255])
}

function newKey(algorithm: Algorithm): { privateKey: KeyObject; cose: Buffer } {
  const { privateKey, publicKey } =
    algorithm === -7
      ? generateKeyPairSync('ec', { namedCurve: 'P-256' })
      : algorithm === -8
        ? generateKeyPairSync('ed25519')
        : generateKeyPairSync('rsa', { modulusLength: 2048 })
  return { privateKey, cose: encodeKey(publicKey, algorithm) }
}

/** Returns a public key in COSE. `algorithm`: what it claims. */
export function encodeKey(publicKey: KeyObject, algorithm: number): Buffer {
  const jwk = publicKey.export({ format: 'jwk' })
  const bytes = (member?: string) => Buffer.from(member ?? '', 'base64url')
  if (jwk.kty === 'RSA')
    return cbor([
      [1, 3],
      [3, algorithm],
      [-1, bytes(jwk.n)],
      [-2, bytes(jwk.e)],
    ])

  if (jwk.kty === 'OKP')
    return cbor([
      [1, 1],
      [3, algorithm],
      [-1, 6],
      [-2, bytes(jwk.x)],
    ])

  return cbor([
    [1, 2],
    [3, algorithm],
    [-1, 1],
    [-2, bytes(jwk.x)],
    [-3, bytes(jwk.y)],
  ])
}

/** Returns a new passkey of a user, by default one that is synced. */
export function newPasskey(
  userId: string,
  { algorithm = -7 as Algorithm, isSynced = true, signCount = 0 } = {},
): Passkey {
  const { privateKey, cose } = newKey(algorithm)
  const credentialId = randomBytes(32)
  keepSecret(base64url(credentialId))

  return {
    credentialId,
    privateKey,
    publicKey: cose,
    algorithm,
    userHandle: base64url(Buffer.from(userId.replaceAll('-', ''), 'hex')),
    flags: isSynced ? synced : usual,
    signCount,
  }
}

/** Returns the `clientDataJSON` of a browser at `origin`. */
function makeClientData(challenge: string, origin: string, changes: Changes): Buffer {
  const { type, clientData } = changes
  const data = {
    type,
    challenge,
    origin: changes.origin ?? origin,
    crossOrigin: false,
    ...clientData,
  }
  return Buffer.from(JSON.stringify(data))
}

function makeAuthData(
  origin: string,
  passkey: Passkey,
  changes: Changes,
  attested = Buffer.alloc(0),
): Buffer {
  const counter = Buffer.alloc(4)
  counter.writeUInt32BE(changes.signCount ?? passkey.signCount)
  const flags =
    (changes.flags ?? passkey.flags) | (attested.length > 0 ? flag.attested : 0)
  const rpId = changes.rpId ?? new URL(origin).hostname
  const data = Buffer.concat([sha256(rpId), Buffer.from([flags]), counter, attested])
  return changes.authData?.(data) ?? data
}

/** The credential of a registration, as `POST /api/auth/passkeys/add` accepts it. */
export function register(
  passkey: Passkey,
  challenge: string,
  origin: string,
  changes: Changes = {},
) {
  const length = Buffer.alloc(2)
  length.writeUInt16BE(passkey.credentialId.length)
  const attested = Buffer.concat([
    Buffer.alloc(16), // AAGUID
    length,
    passkey.credentialId,
    passkey.publicKey,
  ])
  const authData = makeAuthData(origin, passkey, changes, attested)
  const object = Buffer.concat([
    Buffer.from([0xa3]), // a map of three pairs
    ...[cbor('fmt'), cbor(changes.format ?? 'none')],
    ...[cbor('attStmt'), changes.statement ?? cbor([])],
    ...[cbor('authData'), cbor(authData)],
  ])

  return {
    id: changes.id ?? base64url(passkey.credentialId),
    clientDataJSON: base64url(
      makeClientData(challenge, origin, { type: 'webauthn.create', ...changes }),
    ),
    attestationObject: base64url(changes.attestationObject?.(object) ?? object),
    transports: ['internal', 'hybrid', 'made up'],
  }
}

/** The credential of a sign-in, as `POST /api/auth/sign-in/passkey` accepts it. */
export function assert(
  passkey: Passkey,
  challenge: string,
  origin: string,
  changes: Changes = {},
) {
  const authData = makeAuthData(origin, passkey, changes)
  const clientData = makeClientData(challenge, origin, {
    type: 'webauthn.get',
    ...changes,
  })

  const key = changes.signWith ?? passkey.privateKey
  const hash = key.asymmetricKeyType === 'ed25519' ? null : 'sha256'
  const signature = sign(hash, Buffer.concat([authData, sha256(clientData)]), key)

  return {
    id: changes.id ?? base64url(passkey.credentialId),
    clientDataJSON: base64url(clientData),
    authenticatorData: base64url(authData),
    signature: base64url(changes.signature?.(signature) ?? signature),
    userHandle: 'userHandle' in changes ? changes.userHandle : passkey.userHandle,
  }
}
