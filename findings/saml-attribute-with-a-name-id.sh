#!/usr/bin/env bash
# One would expect: the value of eduPersonTargetedID, by which universities name a person,
# arrives like that of any other attribute. Its AttributeValue has a NameID element, not text.
# Seen: saml2-js 4.0.4 returns "" and samlify 2.13.1 an empty array, without an error.
# node-saml 5.1.0 returns an object, with the text below `NameID[0]._`. A second
# AttributeStatement, which the schema allows, makes saml2-js throw; @boxyhq/saml20 1.15.2 then
# returns no attribute at all, and says nothing.
# Where it matters: federations. Every person has the same, empty ID, and attributes that are
# there are missing. Ask the provider for a subject-id, which is text, or read the XML.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund --ignore-scripts \
  @node-saml/node-saml@5.1.0 saml2-js@4.0.4 samlify@2.13.1 @boxyhq/saml20@1.15.2 xml-crypto@6.3.2
openssl req -x509 -newkey rsa:2048 -nodes -keyout key.pem -out cert.pem -days 2 -subj /CN=idp 2>/dev/null

cat >seen.mjs <<'END'
import assert from 'node:assert'
import fs from 'node:fs'
import { createRequire } from 'node:module'
import { SAML } from '@node-saml/node-saml'
import saml2 from 'saml2-js'
import samlify from 'samlify'
import { SignedXml } from 'xml-crypto'

const boxyhq = createRequire(import.meta.url)('@boxyhq/saml20').default
const [privateKey, cert] = ['key.pem', 'cert.pem'].map((name) => fs.readFileSync(name, 'utf8'))
const [idp, sp, acs] = ['https://idp.example/', 'https://sp.example/', 'https://sp.example/acs']
const at = (seconds) => new Date(Date.now() + seconds * 1000).toISOString()
const statement = (name, value) =>
  `<AttributeStatement><Attribute Name="${name}"><AttributeValue>${value}</AttributeValue></Attribute></AttributeStatement>`
const targetedId = 'urn:oid:1.3.6.1.4.1.5923.1.1.1.10'
const persistent = 'urn:oasis:names:tc:SAML:2.0:nameid-format:persistent'

function responseWith(statements) {
  const response = `<samlp:Response xmlns:samlp="urn:oasis:names:tc:SAML:2.0:protocol" ID="_r" Version="2.0" IssueInstant="${at(0)}"
    Destination="${acs}" InResponseTo="_q">
    <Issuer xmlns="urn:oasis:names:tc:SAML:2.0:assertion">${idp}</Issuer>
    <samlp:Status><samlp:StatusCode Value="urn:oasis:names:tc:SAML:2.0:status:Success"/></samlp:Status>
    <Assertion xmlns="urn:oasis:names:tc:SAML:2.0:assertion" ID="_a" Version="2.0" IssueInstant="${at(0)}">
    <Issuer>${idp}</Issuer>
    <Subject><NameID>_transient</NameID>
    <SubjectConfirmation Method="urn:oasis:names:tc:SAML:2.0:cm:bearer">
    <SubjectConfirmationData NotOnOrAfter="${at(300)}" Recipient="${acs}" InResponseTo="_q"/></SubjectConfirmation>
    </Subject>
    <Conditions NotBefore="${at(-60)}" NotOnOrAfter="${at(300)}">
    <AudienceRestriction><Audience>${sp}</Audience></AudienceRestriction>
    </Conditions>
    <AuthnStatement AuthnInstant="${at(0)}" SessionIndex="_s">
    <AuthnContext><AuthnContextClassRef>urn:oasis:names:tc:SAML:2.0:ac:classes:Password</AuthnContextClassRef>
    </AuthnContext></AuthnStatement>${statements}</Assertion></samlp:Response>`
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
  return signature.getSignedXml()
}

const encode = (xml) => ({ SAMLResponse: Buffer.from(xml).toString('base64') })
const post = 'urn:oasis:names:tc:SAML:2.0:bindings:HTTP-POST'
samlify.setSchemaValidator({ validate: async () => 'not checked here' })
const readers = {
  async 'node-saml'(xml) {
    const saml = new SAML({ idpCert: cert, issuer: sp, audience: sp, callbackUrl: acs, wantAuthnResponseSigned: false })
    return (await saml.validatePostResponseAsync(encode(xml))).profile.attributes
  },
  'saml2-js': (xml) =>
    new Promise((resolve, reject) => {
      const service = new saml2.ServiceProvider({
        entity_id: sp,
        private_key: privateKey,
        certificate: cert,
        assert_endpoint: acs,
        allow_unencrypted_assertion: true,
      })
      const provider = new saml2.IdentityProvider({ sso_login_url: idp, sso_logout_url: idp, certificates: [cert] })
      service.post_assert(provider, { request_body: encode(xml) }, (error, result) =>
        error ? reject(error) : resolve(result.user.attributes),
      )
    }),
  async samlify(xml) {
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
    return (await service.parseLoginResponse(provider, 'post', { body: encode(xml) })).extract.attributes
  },
  async '@boxyhq/saml20'(xml) {
    const publicKey = cert.replaceAll(/-----.*-----|\s/g, '')
    return (await boxyhq.validate(xml, { publicKey, audience: sp, inResponseTo: '_q' })).claims
  },
}
const withId = responseWith(statement(targetedId, `<NameID Format="${persistent}" NameQualifier="${idp}">5f3c</NameID>`))
const withTwo = responseWith(statement('mail', 'ada@example.com') + statement('role', 'editor'))
for (const [name, read] of Object.entries(readers)) {
  const [id, two] = await Promise.all([
    name === '@boxyhq/saml20' ? 'not tried' : read(withId).then((found) => found[targetedId]),
    read(withTwo).then(
      ({ mail, role }) => [mail, role].flat().join(),
      (error) => error.message,
    ),
  ])
  console.log(`${name}: ID: ${JSON.stringify(id)}; two statements: ${two}`)
  const [expectedId, expectedTwo] = {
    'node-saml': [{ NameID: [{ _: '5f3c', $: { Format: persistent, NameQualifier: idp } }] }, 'ada@example.com,editor'],
    'saml2-js': [[''], 'Expected 1 AttributeStatement inside Assertion; found 2'],
    samlify: [[], 'ada@example.com,editor'],
    '@boxyhq/saml20': ['not tried', ','],
  }[name]
  assert.deepEqual(id, expectedId)
  assert.equal(two, expectedTwo)
}
END
echo "node-saml 5.1.0, saml2-js 4.0.4, samlify 2.13.1, @boxyhq/saml20 1.15.2"
node seen.mjs
