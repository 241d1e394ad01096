#!/usr/bin/env bash
# One would expect: metadata with two signing certificates means that both are valid. This is
# how a provider announces its next certificate, weeks before it signs with it.
# Seen with passport-saml-metadata 5.0.0: `toPassportConfig(reader)` returns only the last of
# them, which is usually the one not in use yet. `{multipleCerts: true}` returns both, and is
# not the default. @boxyhq/saml20 1.15.2 and samlify 2.13.1 read both. Around the same entity,
# an EntitiesDescriptor, as federations and some providers write it, makes samlify read null
# without an error, @boxyhq/saml20 throw, and passport-saml-metadata no difference.
# Where it matters: an app that reads the metadata at each start rejects everybody after its
# next deployment, long before the day that the provider has announced.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund --ignore-scripts \
  passport-saml-metadata@5.0.0 @boxyhq/saml20@1.15.2 samlify@2.13.1
for name in current next; do
  openssl req -x509 -newkey rsa:2048 -nodes -keyout key.pem -out $name.pem -days 90 -subj /CN=$name 2>/dev/null
done

cat >seen.mjs <<'END'
import assert from 'node:assert'
import fs from 'node:fs'
import { createRequire } from 'node:module'
import samlify from 'samlify'

const require = createRequire(import.meta.url)
const { MetadataReader, toPassportConfig } = require('passport-saml-metadata')
const boxyhq = require('@boxyhq/saml20').default

const names = ['current', 'next']
const certificates = names.map((name) => fs.readFileSync(`${name}.pem`, 'utf8').replaceAll(/-----.*-----|\s/g, ''))
const name = (found) => [found].flat().map((each) => names[certificates.indexOf(each)] ?? String(each))
const keys = certificates.map(
  (each) => `<KeyDescriptor use="signing"><KeyInfo xmlns="http://www.w3.org/2000/09/xmldsig#"><X509Data>
    <X509Certificate>${each}</X509Certificate></X509Data></KeyInfo></KeyDescriptor>`,
)
const entity = `<EntityDescriptor xmlns="urn:oasis:names:tc:SAML:2.0:metadata" entityID="https://idp.example/">
  <IDPSSODescriptor protocolSupportEnumeration="urn:oasis:names:tc:SAML:2.0:protocol">${keys.join('')}
  <SingleSignOnService Binding="urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect"
    Location="https://idp.example/sso"/></IDPSSODescriptor></EntityDescriptor>`
const entities = `<EntitiesDescriptor xmlns="urn:oasis:names:tc:SAML:2.0:metadata">${entity}</EntitiesDescriptor>`

const readers = {
  'passport-saml-metadata': (xml) => name(toPassportConfig(new MetadataReader(xml)).idpCert),
  'passport-saml-metadata, multipleCerts': (xml) =>
    name(toPassportConfig(new MetadataReader(xml), { multipleCerts: true }).idpCert),
  '@boxyhq/saml20': async (xml) => name((await boxyhq.parseMetadata(xml, {})).publicKey.split(',')),
  samlify: (xml) => name(samlify.IdentityProvider({ metadata: xml }).entityMeta.getX509Certificate('signing')),
}
const seen = {}
for (const [library, read] of Object.entries(readers)) {
  const outcomes = [entity, entities].map((xml) => Promise.resolve(xml).then(read).catch(() => ['error']))
  seen[library] = (await Promise.all(outcomes)).map((each) => each.join(', '))
  console.log(`${library}: ${seen[library][0]}; within EntitiesDescriptor: ${seen[library][1]}`)
}
assert.deepEqual(seen, {
  'passport-saml-metadata': ['next', 'next'],
  'passport-saml-metadata, multipleCerts': ['current, next', 'current, next'],
  '@boxyhq/saml20': ['current, next', 'error'],
  samlify: ['current, next', 'null'],
})
END
echo "passport-saml-metadata 5.0.0, @boxyhq/saml20 1.15.2, samlify 2.13.1"
node seen.mjs
