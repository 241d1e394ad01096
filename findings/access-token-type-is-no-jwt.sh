#!/usr/bin/env bash
# One would expect: whatever checks "is this a JWT" accepts the access tokens of RFC 9068,
# whose header says `"typ": "at+jwt"`, and other explicit types (RFC 8725 §3.11).
# Seen: zod 4.6.7 (`z.jwt()`) and hono 4.13.19 (`hono/jwt`) reject every `typ` but "JWT", also
# with a right signature. The same token without `typ` passes both. jose 6.2.18 and
# jsonwebtoken 9.0.3 accept all three.
# Where it matters: an API that validates input with zod refuses tokens of providers that
# follow the RFC, and the message is "Invalid JWT". Check the type with the verifier.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund --ignore-scripts \
  zod@4.6.7 hono@4.13.19 jose@6.2.18 jsonwebtoken@9.0.3

cat >seen.mjs <<'END'
import assert from 'node:assert'
import { verify } from 'hono/jwt'
import { exportJWK, exportSPKI, generateKeyPair, jwtVerify, SignJWT } from 'jose'
import jsonwebtoken from 'jsonwebtoken'
import { z } from 'zod'

const { publicKey, privateKey } = await generateKeyPair('RS256', { extractable: true })
const jwk = { ...(await exportJWK(publicKey)), alg: 'RS256' }
const pem = await exportSPKI(publicKey)
const outcome = (run) =>
  Promise.resolve()
    .then(run)
    .then(
      () => 'accepted',
      (error) => `rejected (${error.name})`,
    )
async function check(typ) {
  const token = await new SignJWT({ sub: 'ada' })
    .setProtectedHeader({ alg: 'RS256', ...(typ && { typ }) })
    .setIssuedAt()
    .setExpirationTime('5m')
    .sign(privateKey)
  const seen = {
    zod: await outcome(() => z.jwt().parse(token)),
    hono: await outcome(() => verify(token, jwk, 'RS256')),
    jose: await outcome(() => jwtVerify(token, publicKey)),
    jsonwebtoken: await outcome(() =>
      jsonwebtoken.verify(token, pem, { algorithms: ['RS256'] }),
    ),
  }
  console.log(`typ ${typ ?? 'absent'}: ${JSON.stringify(seen)}`)
  return Object.values(seen).map((text) => text.split(' ')[0])
}
const all = Array(4).fill('accepted')
assert.deepEqual(await check('JWT'), all)
assert.deepEqual(await check(undefined), all)
assert.deepEqual(await check('at+jwt'), ['rejected', 'rejected', 'accepted', 'accepted'])
END
echo "zod 4.6.7, hono 4.13.19, jose 6.2.18, jsonwebtoken 9.0.3"
node seen.mjs
