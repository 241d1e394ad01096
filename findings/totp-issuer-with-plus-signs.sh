#!/usr/bin/env bash
# One would expect: an app that is called "My App" in the otpauth URI is called so in the list
# of the authenticator.
# Seen: @oslojs/otp 1.1.0, @epic-web/totp 4.0.1 and @better-auth/utils 0.5.1 write
# `issuer=My+App`, because URLSearchParams does. The readers otpauth 9.5.2 and @otplib/uri
# 13.5.0 decode only percent signs, as the description of the format says, so the user sees
# "My+App". url-otpauth 2.0.0 and pyotp 2.6.0 of Debian 12 read a space. The writers otplib
# 13.5.0, otpauth and speakeasy 2.0.0 write %20, which all readers understand.
# Where it matters: names that users must find again in a list, and readers that compare the
# issuer with the label. Replace "+" by "%20" in the URI: a real plus sign is written %2B.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund --ignore-scripts @oslojs/otp@1.1.0 @epic-web/totp@4.0.1 \
  @better-auth/utils@0.5.1 otpauth@9.5.2 otplib@13.5.0 @otplib/uri@13.5.0 speakeasy@2.0.0 url-otpauth@2.0.0
{ apt-get download python3-pyotp || { apt-get update && apt-get download python3-pyotp; }; } >apt.log 2>&1 ||
  { cat apt.log; exit 1; }
dpkg-deb -x python3-pyotp_*.deb root
apt-cache policy python3-pyotp | sed -n 's/^ *Candidate:/python3-pyotp/p'

cat >seen.mjs <<'END'
import assert from 'node:assert'
import { execFileSync } from 'node:child_process'
import { createOTP } from '@better-auth/utils/otp'
import { getTOTPAuthUri } from '@epic-web/totp'
import { createTOTPKeyURI } from '@oslojs/otp'
import { parse } from '@otplib/uri'
import { Secret, TOTP, URI } from 'otpauth'
import { generateURI } from 'otplib'
import speakeasy from 'speakeasy'
import urlOtpauth from 'url-otpauth'

const key = new Secret({ size: 20 })
const secret = key.base32
const [issuer, label] = ['My App', 'ada@example.com']
const writers = {
  '@oslojs/otp': createTOTPKeyURI(issuer, label, key.bytes, 30, 6),
  '@epic-web/totp': getTOTPAuthUri({ issuer, accountName: label, secret, period: 30, digits: 6, algorithm: 'SHA-1' }),
  '@better-auth/utils': createOTP(key.hex, { period: 30, digits: 6 }).url(issuer, label),
  otplib: generateURI({ issuer, label, secret }),
  otpauth: new TOTP({ issuer, label, secret }).toString(),
  speakeasy: speakeasy.otpauthURL({ issuer, label, secret, encoding: 'base32' }),
}
const python = 'import sys, pyotp; print(pyotp.parse_uri(sys.argv[1]).issuer)'
const env = { PYTHONPATH: 'root/usr/lib/python3/dist-packages' }
const readers = {
  otpauth: (uri) => URI.parse(uri).issuer,
  '@otplib/uri': (uri) => parse(uri).params.issuer,
  'url-otpauth': (uri) => urlOtpauth.parse(uri).issuer,
  pyotp: (uri) => execFileSync('/usr/bin/python3', ['-c', python, uri], { encoding: 'utf8', env }).trim(),
}
for (const [writer, uri] of Object.entries(writers)) {
  const seen = Object.entries(readers).map(([reader, read]) => [reader, read(uri)])
  console.log(`${writer} writes ${/issuer=([^&]*)/.exec(uri)[0]}; read as ${seen.map((pair) => pair.join(': ')).join(', ')}`)
  const plus = ['@oslojs/otp', '@epic-web/totp', '@better-auth/utils'].includes(writer)
  const expected = plus ? ['My+App', 'My+App', 'My App', 'My App'] : Array(4).fill('My App')
  assert.deepEqual(seen.map(([, read]) => read), expected)
}
END
node seen.mjs
