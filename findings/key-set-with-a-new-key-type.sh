#!/usr/bin/env bash
# One would expect: a client ignores the keys of a set that it does not know. RFC 7517 §5 says
# so, and so would a provider that publishes its first post-quantum key (`"kty": "AKP"`,
# ML-DSA) beside the RSA key in use.
# Seen: jwcrypto 1.1.0 and Authlib 1.2.0 of Debian 12 (`import_key_set`) and node-jose 2.2.0
# cannot load the set at all, so every RS256 token is rejected. PyJWT 2.6.0 of Debian 12 and
# jose 6.2.18 skip the key and go on.
# Where it matters: publish such a key only where the clients are known, or at another path.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
# Downloads and unpacks packages of Debian 12, and prints the versions.
unpack() {
  apt-get download "$@" >apt.log 2>&1 ||
    { apt-get update && apt-get download "$@"; } >apt.log 2>&1 ||
    { cat apt.log; exit 1; }
  for package in *.deb; do dpkg-deb -x "$package" root && rm "$package"; done
  apt-cache policy "$1" | sed -n "s/^ *Candidate:/$1/p"
}
unpack python3-jwcrypto python3-deprecated python3-wrapt python3-cryptography python3-cffi-backend
unpack python3-authlib
unpack python3-jwt
npm init -y >/dev/null
npm install --silent --no-audit --no-fund --ignore-scripts node-jose@2.2.0 jose@6.2.18

cat >seen.mjs <<'END'
import assert from 'node:assert'
import crypto from 'node:crypto'
import fs from 'node:fs'
import { createLocalJWKSet, jwtVerify, SignJWT } from 'jose'
import nodeJose from 'node-jose'

const { publicKey, privateKey } = crypto.generateKeyPairSync('rsa', { modulusLength: 2048 })
const rsa = { ...publicKey.export({ format: 'jwk' }), kid: 'rsa', alg: 'RS256', use: 'sig' }
const akp = { kty: 'AKP', alg: 'ML-DSA-44', kid: 'pq', use: 'sig', pub: crypto.randomBytes(1312).toString('base64url') }
const sets = { alone: { keys: [rsa] }, both: { keys: [rsa, akp] } }
fs.writeFileSync('sets.json', JSON.stringify(sets))
const token = await new SignJWT({ sub: 'ada' }).setProtectedHeader({ alg: 'RS256', kid: 'rsa' }).sign(privateKey)
for (const [name, set] of Object.entries(sets)) {
  const jose = await jwtVerify(token, createLocalJWKSet(set)).then(
    () => 'verified',
    (error) => error.message,
  )
  const other = await nodeJose.JWK.asKeyStore(set)
    .then((store) => nodeJose.JWS.createVerify(store).verify(token))
    .then(
      () => 'verified',
      (error) => error.message,
    )
  console.log(`${name}: jose: ${jose}; node-jose: ${other}`)
  assert.equal(jose, 'verified')
  assert.equal(other, name === 'alone' ? 'verified' : 'unsupported key type')
}
END
node seen.mjs

cat >seen.py <<'END'
import json
from authlib.jose import JsonWebKey
from jwcrypto.jwk import JWKSet
from jwt import PyJWKSet

loaders = {
    'PyJWT': PyJWKSet.from_dict,
    'jwcrypto': lambda keys: JWKSet.from_json(json.dumps(keys)),
    'Authlib': JsonWebKey.import_key_set,
}
sets = json.load(open('sets.json'))
for name, load in loaders.items():
    outcomes = []
    for keys in (sets['alone'], sets['both']):
        try:
            load(keys)
            outcomes.append('loaded')
        except Exception as error:
            outcomes.append(type(error).__name__)
    print(f'{name}: alone: {outcomes[0]}; both: {outcomes[1]}')
    assert outcomes[0] == 'loaded' and (outcomes[1] == 'loaded') == (name == 'PyJWT')
END
PYTHONPATH=root/usr/lib/python3/dist-packages /usr/bin/python3 seen.py
