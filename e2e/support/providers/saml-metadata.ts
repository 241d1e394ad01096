const protocol = 'urn:oasis:names:tc:SAML:2.0:protocol'

/** Returns the metadata of a SAML provider that signs with a certificate (PEM). */
export function providerMetadata(
  certificate: string,
  issuer = 'https://idp.example/metadata',
  ssoUrl = 'https://idp.example/sso',
): string {
  const base64 = certificate.replace(/-----[^-]+-----|\s/g, '')

  return `<EntityDescriptor xmlns="urn:oasis:names:tc:SAML:2.0:metadata" entityID="${issuer}">
<IDPSSODescriptor protocolSupportEnumeration="${protocol}">
<KeyDescriptor use="signing"><KeyInfo xmlns="http://www.w3.org/2000/09/xmldsig#"><X509Data><X509Certificate>${base64}</X509Certificate></X509Data></KeyInfo></KeyDescriptor>
<SingleSignOnService Binding="urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect" Location="${ssoUrl.replaceAll('&', '&amp;')}"/>
</IDPSSODescriptor></EntityDescriptor>`
}
