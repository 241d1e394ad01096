#!/usr/bin/env bash
# One would expect: the metadata that a service provider writes once and mails to the
# administrator of the identity provider stays valid as long as its certificate.
# Seen with saml2-js 4.0.4: `create_metadata` writes a `validUntil` one hour ahead, and no
# option changes it. SAML Metadata §2.3.2 lets a consumer reject it after that.
# Where it matters: the test right after the import works, and sign-ins fail the next day,
# at each provider that checks it. Remove the attribute before you send the file, or serve
# the metadata at a URL that the provider fetches again.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund --ignore-scripts saml2-js@4.0.4
openssl req -x509 -newkey rsa:2048 -nodes -keyout key.pem -out cert.pem -days 3650 -subj /CN=sp 2>/dev/null

cat >seen.mjs <<'END'
import assert from 'node:assert'
import fs from 'node:fs'
import saml2 from 'saml2-js'

const provider = new saml2.ServiceProvider({
  entity_id: 'https://sp.example/metadata',
  assert_endpoint: 'https://sp.example/acs',
  private_key: fs.readFileSync('key.pem', 'utf8'),
  certificate: fs.readFileSync('cert.pem', 'utf8'),
})
const [, until] = /validUntil="([^"]+)"/.exec(provider.create_metadata())
const minutes = Math.round((new Date(until) - Date.now()) / 60_000)
console.log(
  `the certificate is valid for 3650 days, the metadata for ${minutes} minutes (until ${until})`,
)
assert.equal(minutes, 60)
END
echo "saml2-js 4.0.4"
node seen.mjs
