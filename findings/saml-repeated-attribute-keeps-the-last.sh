#!/usr/bin/env bash
# One would expect: two <Attribute> elements with one Name mean the same as one element with
# two values. Keycloak, for one, writes each role as an element of its own by default.
# Seen: node-saml 5.1.0 and saml2-js 4.0.4 keep only the last element and say nothing, and
# samlify 2.13.1 returns both values. With two values in one element, all three return both.
# Where it matters: access by role or group. The user has the role that happens to be last,
# so it looks like a fault of the provider. Let the provider write one element, or read the
# assertion that node-saml returns yourself.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund --ignore-scripts \
  @node-saml/node-saml@5.1.0 saml2-js@4.0.4 samlify@2.13.1 xml-crypto@6.3.2
openssl req -x509 -newkey rsa:2048 -nodes -keyout key.pem -out cert.pem -days 2 -subj /CN=idp 2>/dev/null

cat >seen.mjs <<'END'
import assert from 'node:assert'
import fs from 'node:fs'
import { SAML } from '@node-saml/node-saml'
import saml2 from 'saml2-js'
import samlify from 'samlify'
import { SignedXml } from 'xml-crypto'

const [privateKey, cert] = ['key.pem', 'cert.pem'].map((name) => fs.readFileSync(name, 'utf8'))
const [idp, sp, acs] = ['https://idp.example/', 'https://sp.example/', 'https://sp.example/acs']
const at = (seconds) => new Date(Date.now() + seconds * 1000).toISOString()
const value = (text) => `<AttributeValue>${text}</AttributeValue>`
const attribute = (...values) => `<Attribute Name="Role">${values.map(value).join('')}</Attribute>`
function responseWith(attributes) {
  const assertion = `<Assertion xmlns="urn:oasis:names:tc:SAML:2.0:assertion" ID="_a" Version="2.0" IssueInstant="${at(0)}">
    <Issuer>${idp}</Issuer>
    <Subject><NameID>ada</NameID>
    <SubjectConfirmation Method="urn:oasis:names:tc:SAML:2.0:cm:bearer">
    <SubjectConfirmationData NotOnOrAfter="${at(300)}" Recipient="${acs}" InResponseTo="_q"/></SubjectConfirmation>
    </Subject>
    <Conditions NotBefore="${at(-60)}" NotOnOrAfter="${at(300)}">
    <AudienceRestriction><Audience>${sp}</Audience></AudienceRestriction>
    </Conditions>
    <AuthnStatement AuthnInstant="${at(0)}" SessionIndex="_s">
    <AuthnContext>
    <AuthnContextClassRef>urn:oasis:names:tc:SAML:2.0:ac:classes:Password</AuthnContextClassRef></AuthnContext></AuthnStatement>
    <AttributeStatement>${attributes}</AttributeStatement></Assertion>`
  const response = `<samlp:Response xmlns:samlp="urn:oasis:names:tc:SAML:2.0:protocol" ID="_r" Version="2.0" IssueInstant="${at(0)}"
    Destination="${acs}" InResponseTo="_q">
    <Issuer xmlns="urn:oasis:names:tc:SAML:2.0:assertion">${idp}</Issuer>
    <samlp:Status><samlp:StatusCode Value="urn:oasis:names:tc:SAML:2.0:status:Success"/></samlp:Status>
    ${assertion}</samlp:Response>`
  const canonical = 'http://www.w3.org/2001/10/xml-exc-c14n#'
  const signature = new SignedXml({
    privateKey,
    signatureAlgorithm: 'http://www.w3.org/2001/04/xmldsig-more#rsa-sha256',
    canonicalizationAlgorithm: canonical,
  })
  signature.addReference({
    xpath: "//*[local-name(.)='Assertion']",
    digestAlgorithm: 'http://www.w3.org/2001/04/xmlenc#sha256',
    transforms: ['http://www.w3.org/2000/09/xmldsig#enveloped-signature', canonical],
  })
  signature.computeSignature(response, {
    location: { reference: "//*[local-name(.)='Assertion']/*[local-name(.)='Issuer']", action: 'after' },
  })
  return Buffer.from(signature.getSignedXml()).toString('base64')
}

samlify.setSchemaValidator({ validate: async () => 'not checked here' })
const post = 'urn:oasis:names:tc:SAML:2.0:bindings:HTTP-POST'
const readers = {
  async 'node-saml 5.1.0'(SAMLResponse) {
    const saml = new SAML({ idpCert: cert, issuer: sp, audience: sp, callbackUrl: acs, wantAuthnResponseSigned: false })
    return (await saml.validatePostResponseAsync({ SAMLResponse })).profile.attributes.Role
  },
  'saml2-js 4.0.4': (SAMLResponse) =>
    new Promise((resolve, reject) => {
      const service = new saml2.ServiceProvider({
        entity_id: sp,
        private_key: privateKey,
        certificate: cert,
        assert_endpoint: acs,
        allow_unencrypted_assertion: true,
      })
      const provider = new saml2.IdentityProvider({ sso_login_url: idp, sso_logout_url: idp, certificates: [cert] })
      service.post_assert(provider, { request_body: { SAMLResponse } }, (error, result) =>
        error ? reject(error) : resolve(result.user.attributes.Role),
      )
    }),
  async 'samlify 2.13.1'(SAMLResponse) {
    const service = samlify.ServiceProvider({
      entityID: sp,
      assertionConsumerService: [{ Binding: post, Location: acs }],
      wantAssertionsSigned: true,
    })
    const provider = samlify.IdentityProvider({
      entityID: idp,
      signingCert: cert,
      singleSignOnService: [{ Binding: post, Location: idp }],
    })
    return (await service.parseLoginResponse(provider, 'post', { body: { SAMLResponse } })).extract.attributes.Role
  },
}
for (const [name, read] of Object.entries(readers)) {
  const one = [await read(responseWith(attribute('reader', 'editor')))].flat()
  const two = [await read(responseWith(attribute('reader') + attribute('editor')))].flat()
  console.log(`${name}: one element: ${one}; two elements: ${two}`)
  assert.deepEqual(one, ['reader', 'editor'])
  assert.deepEqual(two, name.startsWith('samlify') ? ['reader', 'editor'] : ['editor'])
}
END
node seen.mjs
