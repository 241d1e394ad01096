#!/usr/bin/env bash
# One would expect: CBOR libraries write a Map of numbers and byte strings in the one way that
# COSE and CTAP know, above all in a function that is named `encodeCanonical`.
# Seen: cbor 10.0.12 (`encodeCanonical`) and cbor-x 1.6.9 put tag 64 before each Uint8Array,
# but not before a Buffer; cbor-x also puts tag 259 before the Map. cborg 6.1.5 and cbor2 2.3.0
# write none. @simplewebauthn/server 14.0.3 accepts the registration of a key with tag 64 (it
# stores the key as it is), and the first sign-in fails with "Invalid keyData".
# Where it matters: soft tokens and tests written in JavaScript, and keys moved from another
# server. What WebCrypto exports becomes a Uint8Array easily. Make it a Buffer first.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund --ignore-scripts \
  cbor@10.0.12 cbor-x@1.6.9 cborg@6.1.5 cbor2@2.3.0 @simplewebauthn/server@14.0.3

cat >seen.mjs <<'END'
import assert from 'node:assert'
import crypto from 'node:crypto'
import { verifyAuthenticationResponse, verifyRegistrationResponse } from '@simplewebauthn/server'
import cbor from 'cbor'
import * as cbor2 from 'cbor2'
import * as cborX from 'cbor-x'
import * as cborg from 'cborg'

const { publicKey, privateKey } = crypto.generateKeyPairSync('ec', { namedCurve: 'P-256' })
const { x, y } = publicKey.export({ format: 'jwk' })
const cose = (as) =>
  new Map([
    [1, 2],
    [3, -7],
    [-1, 1],
    [-2, as(Buffer.from(x, 'base64url'))],
    [-3, as(Buffer.from(y, 'base64url'))],
  ])
const array = (buffer) => new Uint8Array(buffer)
const hex = (bytes) => Buffer.from(bytes).toString('hex')
const encoders = {
  cbor: (map) => cbor.encodeCanonical(map),
  'cbor-x': cborX.encode,
  cborg: cborg.encode,
  cbor2: cbor2.encode,
}
const tags = (bytes) =>
  [hex(bytes).startsWith('d90103') && 259, hex(bytes).includes('d84058') && 64].filter(Boolean).join()
const seen = Object.entries(encoders).map(
  ([name, encode]) =>
    `${name}: Uint8Array [${tags(encode(cose(array)))}] Buffer [${tags(encode(cose((each) => each)))}]`,
)
console.log(seen.join('\n'))
assert.deepEqual(seen, [
  'cbor: Uint8Array [64] Buffer []',
  'cbor-x: Uint8Array [259,64] Buffer [259]',
  'cborg: Uint8Array [] Buffer []',
  'cbor2: Uint8Array [] Buffer []',
])

const [origin, id] = ['https://example.com', crypto.randomBytes(16)]
const challenge = crypto.randomBytes(32).toString('base64url')
const text = (bytes) => Buffer.from(bytes).toString('base64url')
const sha256 = (bytes) => crypto.createHash('sha256').update(bytes).digest()
const clientData = (type) => Buffer.from(JSON.stringify({ type, challenge, origin, crossOrigin: false }))
const authData = (flags, ...more) => Buffer.concat([sha256('example.com'), Buffer.from([flags, 0, 0, 0, 0]), ...more])
const response = (members) => ({
  id: text(id),
  rawId: text(id),
  type: 'public-key',
  clientExtensionResults: {},
  response: members,
})
const expected = { expectedChallenge: challenge, expectedOrigin: origin, expectedRPID: 'example.com' }
async function passkey(as) {
  const credentialData = authData(0x5d, Buffer.alloc(16), Buffer.from([0, 16]), id, cbor.encodeCanonical(cose(as)))
  const attestationObject = text(cbor.encodeCanonical({ fmt: 'none', attStmt: {}, authData: credentialData }))
  const { verified, registrationInfo } = await verifyRegistrationResponse({
    response: response({ clientDataJSON: text(clientData('webauthn.create')), attestationObject }),
    ...expected,
  })
  const signature = text(
    crypto.sign('sha256', Buffer.concat([authData(0x1d), sha256(clientData('webauthn.get'))]), privateKey),
  )
  const assertion = response({
    clientDataJSON: text(clientData('webauthn.get')),
    authenticatorData: text(authData(0x1d)),
    signature,
  })
  const signIn = await verifyAuthenticationResponse({
    response: assertion,
    ...expected,
    credential: registrationInfo.credential,
  }).then(
    (result) => result.verified,
    (error) => error.message,
  )
  console.log(`@simplewebauthn/server, key as ${as.name}: registration ${verified}, sign-in ${signIn}`)
  return [verified, signIn]
}
assert.deepEqual(
  await passkey(function buffer(bytes) {
    return bytes
  }),
  [true, true],
)
assert.deepEqual(await passkey(array), [true, 'Invalid keyData'])
END
node seen.mjs
