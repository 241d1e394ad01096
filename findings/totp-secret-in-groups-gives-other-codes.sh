#!/usr/bin/env bash
# One would expect: a TOTP secret in groups of four, as it is shown to people who cannot scan,
# either works or is an error.
# Seen with speakeasy 2.0.0: it works without an error and gives other codes than the same
# secret without spaces. otpauth 9.5.2 skips the spaces; otplib 13.5.0 and totp-generator
# 2.0.1 throw. Lower case is the same secret in all four.
# Where it matters: a user pastes the secret as the page shows it, a script or an import
# stores it, and every code is wrong, which looks like a wrong clock. Remove spaces first.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund --ignore-scripts \
  speakeasy@2.0.0 otpauth@9.5.2 otplib@13.5.0 totp-generator@2.0.1

cat >seen.mjs <<'END'
import assert from 'node:assert'
import * as otpauth from 'otpauth'
import { generate } from 'otplib'
import speakeasy from 'speakeasy'
import { TOTP } from 'totp-generator'

async function codes(secret) {
  const runs = {
    speakeasy: () => speakeasy.totp({ secret, encoding: 'base32', time: 59 }),
    otpauth: () => new otpauth.TOTP({ secret }).generate({ timestamp: 59_000 }),
    otplib: () => generate({ secret, epoch: 59 }),
    'totp-generator': async () =>
      (await TOTP.generate(secret, { timestamp: 59_000 })).otp,
  }
  const seen = {}
  for (const [name, run] of Object.entries(runs))
    seen[name] = await Promise.resolve()
      .then(run)
      .catch(() => 'throws')
  console.log(`"${secret}": ${JSON.stringify(seen)}`)
  return Object.values(seen)
}
const right = '503347'
assert.deepEqual(await codes('JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP'), [
  right,
  right,
  right,
  right,
])
assert.deepEqual(await codes('jbswy3dpehpk3pxpjbswy3dpehpk3pxp'), [
  right,
  right,
  right,
  right,
])
assert.deepEqual(await codes('JBSW Y3DP EHPK 3PXP JBSW Y3DP EHPK 3PXP'), [
  '245171',
  right,
  'throws',
  'throws',
])
END
echo "speakeasy 2.0.0, otpauth 9.5.2, otplib 13.5.0, totp-generator 2.0.1"
node seen.mjs
