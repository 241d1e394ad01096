#!/usr/bin/env bash
# One would expect: an update of a TOTP library goes on with the secrets that users have.
# Seen with otplib 13.5.0: a secret of 80 bits (16 characters of base32) throws
# SecretTooShortError, in `generate` and in `verify`. The best known example of a secret,
# JBSWY3DPEHPK3PXP, has 80 bits. RFC 4226 demands 128, so new secrets should be longer, but
# the old ones are in users' phones. otpauth 9.5.2 and otplib 12.0.1 compute the code.
# Where it matters: after the update, users who enrolled long ago cannot sign in. Count
# the short secrets before it.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund --ignore-scripts \
  otplib@13.5.0 otplib-12@npm:otplib@12.0.1 otpauth@9.5.2

cat >seen.mjs <<'END'
import assert from 'node:assert'
import { TOTP } from 'otpauth'
import { generate, verify } from 'otplib'
import otplib12 from 'otplib-12'

async function codes(secret) {
  otplib12.authenticator.options = { epoch: 59_000 }
  const seen = {
    'otpauth 9.5.2': new TOTP({ secret }).generate({ timestamp: 59_000 }),
    'otplib 12.0.1': otplib12.authenticator.generate(secret),
    'otplib 13.5.0': await generate({ secret, epoch: 59 }).catch((error) => error.name),
  }
  console.log(`${secret}: ${JSON.stringify(seen)}`)
  return Object.values(seen)
}
assert.deepEqual(await codes('JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP'), [
  '503347',
  '503347',
  '503347',
])
assert.deepEqual(await codes('JBSWY3DPEHPK3PXP'), [
  '996554',
  '996554',
  'SecretTooShortError',
])
const check = verify({ secret: 'JBSWY3DPEHPK3PXP', token: '996554', epoch: 59 })
assert.equal(await check.catch((error) => error.name), 'SecretTooShortError')
END
node seen.mjs
