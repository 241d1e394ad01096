// Metadata in the shape that identity providers publish, with values of our own.
import { beforeAll, expect, test } from 'vitest'
import { newSamlProvider } from '../../../e2e/support/providers/saml-provider'
import { readProviderMetadata } from './provider-metadata'

let current: string
let next: string
let other: string
beforeAll(async () => {
  const { settings, nextKey } = await newSamlProvider()
  current = settings.certificates[0]!
  next = nextKey.certificate
  other = settings.certificate
})

const text = (pem: string) => pem.replace(/-----.*-----|\s/g, '')
const lines = (pem: string, end = '\n') =>
  text(pem).replace(/.{1,64}/g, (line) => `${end}${line}`)
const saml = 'urn:oasis:names:tc:SAML:2.0'
const ds = 'http://www.w3.org/2000/09/xmldsig#'

/** Returns an XML signature, as in signed metadata. Its certificate must not be read. */
const signature = (prefix = '') => {
  const p = prefix && `${prefix}:`
  const xmlns = prefix ? `xmlns:${prefix}` : 'xmlns'
  return `<${p}Signature ${xmlns}="${ds}"><${p}SignedInfo><${p}CanonicalizationMethod Algorithm="http://www.w3.org/2001/10/xml-exc-c14n#"/><${p}SignatureMethod Algorithm="http://www.w3.org/2001/04/xmldsig-more#rsa-sha256"/><${p}Reference URI="#_1"><${p}Transforms><${p}Transform Algorithm="${ds}enveloped-signature"/></${p}Transforms><${p}DigestMethod Algorithm="http://www.w3.org/2001/04/xmlenc#sha256"/><${p}DigestValue>AAAA</${p}DigestValue></${p}Reference></${p}SignedInfo><${p}SignatureValue>AAAA</${p}SignatureValue><${p}KeyInfo><${p}X509Data><${p}X509Certificate>${text(other)}</${p}X509Certificate></${p}X509Data></${p}KeyInfo></${p}Signature>`
}
const microsoftKey = (pem: string, use = 'signing') =>
  `<KeyDescriptor use="${use}"><KeyInfo xmlns="${ds}"><X509Data><X509Certificate>${text(pem)}</X509Certificate></X509Data></KeyInfo></KeyDescriptor>`
const xsiAndFed =
  'xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xmlns:fed="http://docs.oasis-open.org/wsfed/federation/200706"'

type Shape = {
  xml: () => string
  entityId: string
  ssoUrl: string
  keys?: () => string[]
}

const shapes: Record<string, Shape> = {
  // on one line, with the service provider’s role, and with xmlns="" in WS-Addressing
  ADFS: {
    entityId: 'http://sts.example.com/adfs/services/trust',
    ssoUrl: 'https://sts.example.com/adfs/ls/',
    keys: () => [current, next],
    xml: () =>
      `\uFEFF<EntityDescriptor ID="_1" entityID="http://sts.example.com/adfs/services/trust" xmlns="${saml}:metadata">${signature('ds')}<RoleDescriptor xsi:type="fed:ApplicationServiceType" protocolSupportEnumeration="http://docs.oasis-open.org/wsfed/federation/200706" ServiceDisplayName="Example &amp; Söhne" ${xsiAndFed}>${microsoftKey(other, 'encryption')}<fed:TargetScopes><wsa:EndpointReference xmlns:wsa="http://www.w3.org/2005/08/addressing"><wsa:Address>https://sts.example.com/adfs/services/trust/2005/issuedtokenmixedasymmetricbasic256</wsa:Address><wsa:Metadata><Metadata xmlns="http://schemas.xmlsoap.org/ws/2004/09/mex"><wsx:MetadataSection Dialect="http://schemas.xmlsoap.org/ws/2004/09/mex" xmlns="" xmlns:wsx="http://schemas.xmlsoap.org/ws/2004/09/mex"><wsx:MetadataReference><wsa10:Address xmlns:wsa10="http://www.w3.org/2005/08/addressing">https://sts.example.com/adfs/services/trust/mex</wsa10:Address></wsx:MetadataReference></wsx:MetadataSection></Metadata></wsa:Metadata></wsa:EndpointReference></fed:TargetScopes></RoleDescriptor><SPSSODescriptor WantAssertionsSigned="true" protocolSupportEnumeration="${saml}:protocol">${microsoftKey(other)}<AssertionConsumerService Binding="${saml}:bindings:HTTP-POST" Location="https://sts.example.com/adfs/ls/" index="0" isDefault="true"/></SPSSODescriptor><IDPSSODescriptor protocolSupportEnumeration="${saml}:protocol">${microsoftKey(other, 'encryption')}${microsoftKey(current)}${microsoftKey(next)}<SingleLogoutService Binding="${saml}:bindings:HTTP-Redirect" Location="https://sts.example.com/adfs/logout/"/><NameIDFormat>${saml}:nameid-format:persistent</NameIDFormat><SingleSignOnService Binding="${saml}:bindings:HTTP-Redirect" Location="https://sts.example.com/adfs/ls/"/><SingleSignOnService Binding="${saml}:bindings:HTTP-POST" Location="https://sts.example.com/adfs/ls/"/><Attribute Name="http://schemas.xmlsoap.org/claims/Group" NameFormat="${saml}:attrname-format:uri" FriendlyName="Group" xmlns="${saml}:assertion"/></IDPSSODescriptor><ContactPerson contactType="support"/></EntityDescriptor>`,
  },
  // with the same keys in the role of WS-Federation
  'Entra ID': {
    entityId: 'https://sts.example.com/00000000-0000-4000-8000-000000000000/',
    ssoUrl: 'https://login.example.com/00000000-0000-4000-8000-000000000000/saml2',
    xml: () =>
      `\uFEFF<?xml version="1.0" encoding="utf-8"?><EntityDescriptor ID="_1" entityID="https://sts.example.com/00000000-0000-4000-8000-000000000000/" xmlns="${saml}:metadata">${signature()}<RoleDescriptor xsi:type="fed:SecurityTokenServiceType" protocolSupportEnumeration="http://docs.oasis-open.org/wsfed/federation/200706" ${xsiAndFed}>${microsoftKey(other)}<fed:ClaimTypesOffered><auth:ClaimType Uri="http://schemas.xmlsoap.org/ws/2005/05/identity/claims/name" xmlns:auth="http://docs.oasis-open.org/wsfed/authorization/200706"><auth:DisplayName>Name</auth:DisplayName></auth:ClaimType></fed:ClaimTypesOffered><fed:PassiveRequestorEndpoint><wsa:EndpointReference xmlns:wsa="http://www.w3.org/2005/08/addressing"><wsa:Address>https://login.example.com/wsfed</wsa:Address></wsa:EndpointReference></fed:PassiveRequestorEndpoint></RoleDescriptor><IDPSSODescriptor protocolSupportEnumeration="${saml}:protocol">${microsoftKey(current)}<SingleSignOnService Binding="${saml}:bindings:HTTP-Redirect" Location="https://login.example.com/00000000-0000-4000-8000-000000000000/saml2" /><SingleSignOnService Binding="${saml}:bindings:HTTP-POST" Location="https://login.example.com/00000000-0000-4000-8000-000000000000/saml2" /></IDPSSODescriptor></EntityDescriptor>`,
  },
  // with comments, several protocols, and another role that has keys
  Shibboleth: {
    entityId: 'https://idp.example.com/idp/shibboleth',
    ssoUrl: 'https://idp.example.com/idp/profile/SAML2/Redirect/SSO',
    keys: () => [current, next],
    xml: () => `<?xml version="1.0" encoding="UTF-8"?>
<!--
     This is example metadata only. Do *NOT* supply it as is without review - it is
     <EntityDescriptor> by hand.
-->
<EntityDescriptor  xmlns="${saml}:metadata" xmlns:ds="${ds}" xmlns:shibmd="urn:mace:shibboleth:metadata:1.0" xmlns:xml="http://www.w3.org/XML/1998/namespace" xmlns:mdui="${saml}:metadata:ui" xmlns:req-attr="urn:oasis:names:tc:SAML:protocol:ext:req-attr" validUntil="2020-01-01T00:00:00.000Z" entityID="https://idp.example.com/idp/shibboleth">

    <IDPSSODescriptor protocolSupportEnumeration="${saml}:protocol urn:oasis:names:tc:SAML:1.1:protocol urn:mace:shibboleth:1.0">
        <Extensions>
            <shibmd:Scope regexp="false">example.com</shibmd:Scope>
            <mdui:UIInfo><mdui:DisplayName xml:lang="de">Universität</mdui:DisplayName></mdui:UIInfo>
        </Extensions>

        <!-- First signing certificate is BackChannel, the Second is FrontChannel -->
        <KeyDescriptor use="signing"><ds:KeyInfo><ds:X509Data><ds:X509Certificate>${lines(current)}
        </ds:X509Certificate></ds:X509Data></ds:KeyInfo></KeyDescriptor>
        <KeyDescriptor use="signing"><ds:KeyInfo><ds:X509Data><ds:X509Certificate>${lines(next)}
        </ds:X509Certificate></ds:X509Data></ds:KeyInfo></KeyDescriptor>
        <KeyDescriptor use="encryption"><ds:KeyInfo><ds:X509Data><ds:X509Certificate>${lines(other)}
        </ds:X509Certificate></ds:X509Data></ds:KeyInfo></KeyDescriptor>

        <SingleSignOnService Binding="urn:mace:shibboleth:1.0:profiles:AuthnRequest" Location="https://idp.example.com/idp/profile/Shibboleth/SSO"/>
        <SingleSignOnService Binding="${saml}:bindings:HTTP-POST" req-attr:supportsRequestedAttributes="true" Location="https://idp.example.com/idp/profile/SAML2/POST/SSO"/>
        <SingleSignOnService Binding="${saml}:bindings:HTTP-Redirect" req-attr:supportsRequestedAttributes="true" Location="https://idp.example.com/idp/profile/SAML2/Redirect/SSO"/>
    </IDPSSODescriptor>

    <AttributeAuthorityDescriptor protocolSupportEnumeration="urn:oasis:names:tc:SAML:1.1:protocol">
        <KeyDescriptor use="signing"><ds:KeyInfo><ds:X509Data><ds:X509Certificate>${lines(other)}
        </ds:X509Certificate></ds:X509Data></ds:KeyInfo></KeyDescriptor>
    </AttributeAuthorityDescriptor>
</EntityDescriptor>
`,
  },
  // a list with one entity, and a key with a name
  Keycloak: {
    entityId: 'https://id.example.com/realms/example',
    ssoUrl: 'https://id.example.com/realms/example/protocol/saml',
    xml: () =>
      `<?xml version="1.0" encoding="UTF-8"?><EntitiesDescriptor Name="urn:keycloak" xmlns="${saml}:metadata" xmlns:dsig="${ds}"><EntityDescriptor entityID="https://id.example.com/realms/example"><IDPSSODescriptor WantAuthnRequestsSigned="true" protocolSupportEnumeration="${saml}:protocol"><KeyDescriptor use="signing"><dsig:KeyInfo><dsig:KeyName>key-1</dsig:KeyName><dsig:X509Data><dsig:X509Certificate>${text(current)}</dsig:X509Certificate></dsig:X509Data></dsig:KeyInfo></KeyDescriptor><ArtifactResolutionService Binding="${saml}:bindings:SOAP" Location="https://id.example.com/realms/example/protocol/saml/resolve" index="0"/><SingleSignOnService Binding="${saml}:bindings:HTTP-POST" Location="https://id.example.com/realms/example/protocol/saml"/><SingleSignOnService Binding="${saml}:bindings:HTTP-Redirect" Location="https://id.example.com/realms/example/protocol/saml"/></IDPSSODescriptor></EntityDescriptor></EntitiesDescriptor>`,
  },
  // with line ends of Windows
  Okta: {
    entityId: 'http://www.example.com/exk1',
    ssoUrl: 'https://example.example.com/app/example_1/exk1/sso/saml',
    xml: () =>
      `<?xml version="1.0" encoding="UTF-8"?><md:EntityDescriptor entityID="http://www.example.com/exk1" xmlns:md="${saml}:metadata"><md:IDPSSODescriptor WantAuthnRequestsSigned="false" protocolSupportEnumeration="${saml}:protocol"><md:KeyDescriptor use="signing"><ds:KeyInfo xmlns:ds="${ds}"><ds:X509Data><ds:X509Certificate>${lines(current, '\r\n')}</ds:X509Certificate></ds:X509Data></ds:KeyInfo></md:KeyDescriptor><md:NameIDFormat>urn:oasis:names:tc:SAML:1.1:nameid-format:emailAddress</md:NameIDFormat><md:SingleSignOnService Binding="${saml}:bindings:HTTP-POST" Location="https://example.example.com/app/example_1/exk1/sso/saml"/><md:SingleSignOnService Binding="${saml}:bindings:HTTP-Redirect" Location="https://example.example.com/app/example_1/exk1/sso/saml"/></md:IDPSSODescriptor></md:EntityDescriptor>`,
  },
  // with two keys in the order of their end
  Google: {
    entityId: 'https://accounts.example.com/o/saml2?idpid=C000',
    ssoUrl: 'https://accounts.example.com/o/saml2/idp?idpid=C000&x=y',
    keys: () => [next, current],
    xml: () => `<?xml version="1.0" encoding="UTF-8" standalone="no"?><md:EntityDescriptor xmlns:md="${saml}:metadata" entityID="https://accounts.example.com/o/saml2?idpid=C000" validUntil="2031-01-03T16:17:49.000Z">
  <md:IDPSSODescriptor WantAuthnRequestsSigned="false" protocolSupportEnumeration="${saml}:protocol">
${[next, current].map((pem) => `    <md:KeyDescriptor use="signing"><ds:KeyInfo xmlns:ds="${ds}"><ds:X509Data><ds:X509Certificate>${lines(pem).trim()}</ds:X509Certificate></ds:X509Data></ds:KeyInfo></md:KeyDescriptor>\n`).join('')}    <md:NameIDFormat>urn:oasis:names:tc:SAML:1.1:nameid-format:unspecified</md:NameIDFormat>
    <md:SingleSignOnService Binding="${saml}:bindings:HTTP-Redirect" Location="https://accounts.example.com/o/saml2/idp?idpid=C000&amp;x=y"/>
  </md:IDPSSODescriptor>
</md:EntityDescriptor>
`,
  },
  // signed, with the value of the key, and with elements of the assertion’s namespace
  PingFederate: {
    entityId: 'IdProvider',
    ssoUrl: 'https://sso.example.com/idp/SSO.saml2',
    xml: () =>
      `<md:EntityDescriptor ID="mzWO1kVu-dA.08s" cacheDuration="PT1440M" entityID="IdProvider" xmlns:md="${saml}:metadata">${signature('ds')}<md:IDPSSODescriptor protocolSupportEnumeration="${saml}:protocol" WantAuthnRequestsSigned="false"><md:KeyDescriptor use="signing"><ds:KeyInfo xmlns:ds="${ds}"><ds:X509Data><ds:X509Certificate>${text(current)}</ds:X509Certificate></ds:X509Data><ds:KeyValue><ds:RSAKeyValue><ds:Modulus>AAAA</ds:Modulus><ds:Exponent>AQAB</ds:Exponent></ds:RSAKeyValue></ds:KeyValue></ds:KeyInfo></md:KeyDescriptor><md:ArtifactResolutionService index="0" Location="https://sso.example.com/idp/ARS.ssaml2" Binding="${saml}:bindings:SOAP" isDefault="true"/><md:SingleSignOnService Location="https://sso.example.com/idp/SSO.saml2" Binding="${saml}:bindings:HTTP-POST"/><md:SingleSignOnService Location="https://sso.example.com/idp/SSO.saml2" Binding="${saml}:bindings:HTTP-Redirect"/><saml:Attribute Name="email" NameFormat="${saml}:attrname-format:unspecified" xmlns:saml="${saml}:assertion"/></md:IDPSSODescriptor><md:ContactPerson contactType="administrative"><md:Company>Example</md:Company></md:ContactPerson></md:EntityDescriptor>`,
  },
  // of Java, which writes &#13; at line ends, with the issuer of the certificate
  IBM: {
    entityId: 'https://idp.example.com/isam/sps/saml20idp/saml20',
    ssoUrl: 'https://idp.example.com/isam/sps/saml20idp/saml20/login',
    xml: () => `<?xml version="1.0" encoding="UTF-8"?>
<md:EntityDescriptor xmlns:md="${saml}:metadata" entityID="https://idp.example.com/isam/sps/saml20idp/saml20">
<md:IDPSSODescriptor WantAuthnRequestsSigned="true" protocolSupportEnumeration="${saml}:protocol">
<md:KeyDescriptor use="signing"><KeyInfo xmlns="${ds}"><X509Data><X509IssuerSerial><X509IssuerName>CN=current</X509IssuerName><X509SerialNumber>1</X509SerialNumber></X509IssuerSerial><X509Certificate>${lines(current, '&#13;\n')}</X509Certificate></X509Data></KeyInfo></md:KeyDescriptor>
<md:KeyDescriptor use="encryption"><KeyInfo xmlns="${ds}"><X509Data><X509Certificate>${text(other)}</X509Certificate></X509Data></KeyInfo><md:EncryptionMethod Algorithm="http://www.w3.org/2001/04/xmlenc#rsa-1_5"/></md:KeyDescriptor>
<md:SingleSignOnService Binding="${saml}:bindings:HTTP-Artifact" Location="https://idp.example.com/isam/sps/saml20idp/saml20/login"/>
<md:SingleSignOnService Binding="${saml}:bindings:HTTP-Redirect" Location="https://idp.example.com/isam/sps/saml20idp/saml20/login"></md:SingleSignOnService >
</md:IDPSSODescriptor>
<md:Organization><md:OrganizationName xml:lang="en">Example</md:OrganizationName></md:Organization>
</md:EntityDescriptor>`,
  },
  // with the same certificate for both uses, and a contact
  SimpleSAMLphp: {
    entityId: 'https://idp.example.com/saml2/idp/metadata.php',
    ssoUrl: 'https://idp.example.com/saml2/idp/SSOService.php',
    xml: () => `<?xml version="1.0"?>
<md:EntityDescriptor xmlns:md="${saml}:metadata" xmlns:ds="${ds}" entityID="https://idp.example.com/saml2/idp/metadata.php">
  <md:IDPSSODescriptor protocolSupportEnumeration="${saml}:protocol">
    <md:KeyDescriptor use="signing"><ds:KeyInfo><ds:X509Data><ds:X509Certificate>${text(current)}</ds:X509Certificate></ds:X509Data></ds:KeyInfo></md:KeyDescriptor>
    <md:KeyDescriptor use="encryption"><ds:KeyInfo><ds:X509Data><ds:X509Certificate>${text(current)}</ds:X509Certificate></ds:X509Data></ds:KeyInfo></md:KeyDescriptor>
    <md:SingleSignOnService Binding="${saml}:bindings:HTTP-Redirect" Location="https://idp.example.com/saml2/idp/SSOService.php"/>
  </md:IDPSSODescriptor>
  <md:ContactPerson contactType="technical">
    <md:GivenName>Ada</md:GivenName>
    <md:EmailAddress>mailto:ada@example.com</md:EmailAddress>
  </md:ContactPerson>
</md:EntityDescriptor>
`,
  },
  // of node-samlp, with claims in the namespace of assertions
  Auth0: {
    entityId: 'urn:example.eu.auth0.example',
    ssoUrl: 'https://example.eu.auth0.example/samlp/AAAA1111',
    xml: () => `<EntityDescriptor entityID="urn:example.eu.auth0.example" xmlns="${saml}:metadata">
  <IDPSSODescriptor protocolSupportEnumeration="${saml}:protocol">
    <KeyDescriptor use="signing">
      <KeyInfo xmlns="${ds}">
        <X509Data>
          <X509Certificate>${text(current)}</X509Certificate>
        </X509Data>
      </KeyInfo>
    </KeyDescriptor>
    <SingleLogoutService Binding="${saml}:bindings:HTTP-Redirect" Location="https://example.eu.auth0.example/samlp/AAAA1111/logout"/>
    <NameIDFormat>${saml}:nameid-format:transient</NameIDFormat>
    <SingleSignOnService Binding="${saml}:bindings:HTTP-Redirect" Location="https://example.eu.auth0.example/samlp/AAAA1111"/>
    <SingleSignOnService Binding="${saml}:bindings:HTTP-POST" Location="https://example.eu.auth0.example/samlp/AAAA1111"/>
    <Attribute Name="http://schemas.xmlsoap.org/ws/2005/05/identity/claims/emailaddress" NameFormat="${saml}:attrname-format:uri" FriendlyName="E-Mail Address" xmlns="${saml}:assertion"/>
  </IDPSSODescriptor>
</EntityDescriptor>`,
  },
  // with a binding that SAML does not define for this service
  OneLogin: {
    entityId: 'https://app.example.com/saml/metadata/1234',
    ssoUrl: 'https://example.example.com/trust/saml2/http-post/sso/1234',
    xml: () => `<?xml version="1.0"?>
<EntityDescriptor xmlns="${saml}:metadata" entityID="https://app.example.com/saml/metadata/1234">
  <IDPSSODescriptor xmlns:ds="${ds}" protocolSupportEnumeration="${saml}:protocol">
    <KeyDescriptor use="signing">
      <ds:KeyInfo xmlns:ds="${ds}">
        <ds:X509Data>
          <ds:X509Certificate>${text(current)}</ds:X509Certificate>
        </ds:X509Data>
      </ds:KeyInfo>
    </KeyDescriptor>
    <NameIDFormat>urn:oasis:names:tc:SAML:1.1:nameid-format:emailAddress</NameIDFormat>
    <SingleSignOnService Binding="${saml}:bindings:HTTP-Redirect" Location="https://example.example.com/trust/saml2/http-post/sso/1234"/>
    <SingleSignOnService Binding="${saml}:bindings:HTTP-POST" Location="https://example.example.com/trust/saml2/http-post/sso/1234"/>
    <SingleSignOnService Binding="${saml}:bindings:SOAP" Location="https://example.example.com/trust/saml2/soap/sso/1234"/>
  </IDPSSODescriptor>
  <ContactPerson contactType="technical">
    <SurName>Support</SurName>
    <EmailAddress>support@example.com</EmailAddress>
  </ContactPerson>
</EntityDescriptor>`,
  },
  // of lxml and xmlsec, signed, with every namespace at the root and line breaks in values
  authentik: {
    entityId: 'authentik',
    ssoUrl: 'https://id.example.com/application/saml/acme/sso/binding/redirect/',
    xml: () => `<md:EntityDescriptor xmlns:ds="${ds}" xmlns:md="${saml}:metadata" xmlns:saml="${saml}:assertion" xmlns:samlp="${saml}:protocol" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" ID="_1" entityID="authentik">
  ${signature('ds')}
  <md:IDPSSODescriptor protocolSupportEnumeration="${saml}:protocol">
    <md:KeyDescriptor use="signing">
      <ds:KeyInfo>
        <ds:X509Data>
          <ds:X509Certificate>${lines(current)}
</ds:X509Certificate>
        </ds:X509Data>
      </ds:KeyInfo>
    </md:KeyDescriptor>
    <md:NameIDFormat>urn:oasis:names:tc:SAML:1.1:nameid-format:X509SubjectName</md:NameIDFormat>
    <md:SingleSignOnService Binding="${saml}:bindings:HTTP-Redirect" Location="https://id.example.com/application/saml/acme/sso/binding/redirect/"/>
    <md:SingleSignOnService Binding="${saml}:bindings:HTTP-POST" Location="https://id.example.com/application/saml/acme/sso/binding/post/"/>
  </md:IDPSSODescriptor>
</md:EntityDescriptor>
`,
  },
  // with elements of KeyInfo in the namespace of the metadata, as in files by hand
  'a file by hand': {
    entityId: 'https://idp.example.com/metadata',
    ssoUrl: 'https://idp.example.com/sso',
    xml: () =>
      `<EntityDescriptor xmlns="${saml}:metadata" entityID="https://idp.example.com/metadata"><IDPSSODescriptor protocolSupportEnumeration="${saml}:protocol"><KeyDescriptor><KeyInfo xmlns:ds="${ds}"><X509Data><X509Certificate>${text(current)}</X509Certificate></X509Data></KeyInfo></KeyDescriptor><SingleSignOnService Binding="${saml}:bindings:HTTP-Redirect" Location="https://idp.example.com/sso"/></IDPSSODescriptor></EntityDescriptor>`,
  },
}

for (const [name, { xml, entityId, ssoUrl, keys }] of Object.entries(shapes)) {
  test(`reads metadata in the shape of ${name}`, () => {
    expect(readProviderMetadata(xml())).toEqual({
      entityId,
      ssoUrl,
      certificates: keys?.() ?? [current],
      notes: [],
      wantsSignedRequests: xml().includes('WantAuthnRequestsSigned="true"'),
    })
  })
}

test('reads only direct children of the role', () => {
  const inside = `<Extensions>${microsoftKey(other)}<SingleSignOnService Binding="${saml}:bindings:HTTP-Redirect" Location="https://other.example"/></Extensions>`
  const xml = shapes['Entra ID']!.xml().replace(/<IDPSSODescriptor[^>]*>/, `$&${inside}`)
  expect(readProviderMetadata(xml)).toEqual(
    readProviderMetadata(shapes['Entra ID']!.xml()),
  )

  const key = microsoftKey(current)
  const deep = `<SPKIData>${microsoftKey(other)}</SPKIData></KeyInfo>`
  const { certificates } = readProviderMetadata(
    shapes['Entra ID']!.xml().replace(key, key.replace('</KeyInfo>', deep)),
  )
  expect(certificates).toEqual([current])
})

// A reader in quadratic time needs between 20 seconds and hours for 1 MiB of these, and a
// quarter of that for half of it. The CPU time does not depend on other programs.
const maxCpuMs = (bytes: number) => (5_000 * bytes) / mebibyte
const timeoutMs = 60_000
const mebibyte = 1024 * 1024
const many = (text: (index: number) => string, bytes = mebibyte - 16_000) =>
  Array.from({ length: Math.floor(bytes / text(100_000).length) }, (_, index) =>
    text(index + 100_000),
  ).join('')
const half = mebibyte / 2
const large: Record<string, (xml: string) => string> = {
  elements: (xml) => xml.replace('</Entity', `${many(() => '<a/>', half)}</Entity`),
  attributes: (xml) =>
    xml.replace('<EntityDescriptor', `$& ${many((n) => `a${n}="" `, half)}`),
  'attributes with a prefix': (xml) =>
    xml.replace(
      '</Entity',
      `<a xmlns:b="c" ${many((n) => `b:a${n}="" `, half)}/></Entity`,
    ),
  'namespaces of many elements': (xml) =>
    xml.replace(
      '</Entity',
      `<a ${many((n) => `xmlns:a${n}="b" `, half / 2)}>${many(() => '<a/>', half / 3)}</a></Entity`,
    ),
  references: (xml) => xml.replace('</Entity', `${many(() => '&amp;')}</Entity`),
  'line ends': (xml) => xml.replace('</Entity', `${many(() => '\r\n')}</Entity`),
  comments: (xml) => xml.replace('</Entity', `${many(() => '<!---->')}</Entity`),
}
for (const [what, make] of Object.entries(large)) {
  test(
    `reads a large document of ${what} in linear time`,
    () => {
      const xml = make(shapes.ADFS!.xml())
      const bytes = Buffer.byteLength(xml)
      expect(bytes).toBeGreaterThan(mebibyte * 0.4)
      expect(bytes).toBeLessThan(mebibyte)
      const start = process.cpuUsage()
      expect(readProviderMetadata(xml).certificates).toEqual([current, next])
      expect(process.cpuUsage(start).user / 1_000).toBeLessThan(maxCpuMs(bytes))
    },
    timeoutMs,
  )
}

const largeAndWrong: Record<string, () => string> = {
  'elements that do not end': () => many(() => '<a>'),
  'root elements that do not end': () => many(() => '<EntityDescriptor>'),
  'ends without a start': () => many(() => '</EntityDescriptor>'),
  'a declaration that does not end': () => `<!${'a'.repeat(mebibyte - 16_000)}`,
  'a DTD with entities': () =>
    `<!DOCTYPE a [${many((n) => `<!ENTITY b${n} "&b${n - 1};&b${n - 1};">`)}]>${shapes.ADFS!.xml()}`,
}
for (const [what, make] of Object.entries(largeAndWrong)) {
  test(
    `rejects 1 MiB of ${what} in linear time`,
    () => {
      const xml = make()
      const start = process.cpuUsage()
      expect(() => readProviderMetadata(xml)).toThrow(/^This (?:is|file) .*\.$/)
      expect(process.cpuUsage(start).user / 1_000).toBeLessThan(maxCpuMs(mebibyte))
    },
    timeoutMs,
  )
}
