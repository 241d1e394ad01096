#!/usr/bin/env bash
# One would expect: a WebAuthn library that verifies the registration of a passkey can also
# verify sign-ins with it.
# Seen with @passwordless-id/webauthn 2.4.0: a registration with an Ed25519 key (COSE
# algorithm -8) is verified and returned as "EdDSA". The first sign-in with the same key is
# rejected, because the algorithm is unknown. RSA and P-256 keys pass both steps.
# Where it matters: SimpleWebAuthn 14, for example, offers Ed25519 first. A user who
# replaces a password by such a passkey is locked out. Offer only -7 and -257 with it.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund --ignore-scripts @passwordless-id/webauthn@2.4.0

cat >seen.mjs <<'END'
import assert from 'node:assert'
import crypto from 'node:crypto'
import { server } from '@passwordless-id/webauthn'

const origin = 'https://example.com'
const challenge = crypto.randomBytes(32).toString('base64url')
const text = (bytes) => Buffer.from(bytes).toString('base64url')
const sha256 = (bytes) => crypto.createHash('sha256').update(bytes).digest()
const clientData = (type) => Buffer.from(JSON.stringify({ type, challenge, origin, crossOrigin: false }))
const authData = (flags, more = Buffer.alloc(0)) =>
  Buffer.concat([sha256('example.com'), Buffer.from([flags, 0, 0, 0, 0]), more])

async function tryOut(name, algorithm, { publicKey, privateKey }, hash) {
  const id = crypto.randomBytes(16)
  const credential = Buffer.concat([Buffer.alloc(16), Buffer.from([0, 16]), id])
  const registration = {
    id: text(id),
    rawId: text(id),
    type: 'public-key',
    clientExtensionResults: {},
    user: { id: 'dQ', name: 'ada' },
    response: {
      clientDataJSON: text(clientData('webauthn.create')),
      authenticatorData: text(authData(0x5d, credential)),
      attestationObject: '',
      publicKey: text(publicKey.export({ format: 'der', type: 'spki' })),
      publicKeyAlgorithm: algorithm,
      transports: ['internal'],
    },
  }
  const registered = await server.verifyRegistration(registration, { challenge, origin })
  const signed = Buffer.concat([authData(0x1d), sha256(clientData('webauthn.get'))])
  const assertion = {
    id: text(id),
    rawId: text(id),
    type: 'public-key',
    clientExtensionResults: {},
    response: {
      clientDataJSON: text(clientData('webauthn.get')),
      authenticatorData: text(authData(0x1d)),
      signature: text(crypto.sign(hash, signed, privateKey)),
      userHandle: 'dQ',
    },
  }
  const expected = { challenge, origin, userVerified: true, counter: -1 }
  const signIn = await server.verifyAuthentication(assertion, registered.credential, expected).then(
    () => 'verified',
    (e) => e.message,
  )
  console.log(`${name}: registered as ${registered.credential.algorithm}; sign-in: ${signIn}`)
  return signIn
}

const ec = crypto.generateKeyPairSync('ec', { namedCurve: 'P-256' })
const rsa = crypto.generateKeyPairSync('rsa', { modulusLength: 2048 })
assert.equal(await tryOut('P-256', -7, ec, 'sha256'), 'verified')
assert.equal(await tryOut('RSA', -257, rsa, 'sha256'), 'verified')
assert.match(await tryOut('Ed25519', -8, crypto.generateKeyPairSync('ed25519'), null), /unsupported.*EdDSA/i)
END
echo "@passwordless-id/webauthn 2.4.0"
node seen.mjs
