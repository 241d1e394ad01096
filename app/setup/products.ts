// What an IT administrator does in each product, in our own words. The products change their
// names of menus without notice, so each step names what to reach, too.

/** Our values, by what they are. */
export type OurValue = 'redirectUri' | 'startUrl' | 'entityId' | 'acsUrl' | 'metadataUrl'

export type Protocol = 'oidc' | 'saml'

export type Product = {
  name: string
  protocol: Protocol
  /**
   * Whether somebody has followed the steps in the product. `null` for the general steps,
   * which our tests follow with other programs.
   */
  isTested: boolean | null
  /** What each of our values is called in the product, in the order of the steps. */
  values: [label: string, value: OurValue][]
  steps: string[]
  /** An example of the issuer of an OpenID provider. */
  issuer?: string
}

export const products: Record<string, Product> = {
  'okta-oidc': {
    name: 'Okta',
    protocol: 'oidc',
    isTested: false,
    values: [
      ['Sign-in redirect URI', 'redirectUri'],
      ['Initiate login URI', 'startUrl'],
    ],
    steps: [
      'In the Admin Console, open Applications, and choose Create App Integration.',
      'Choose OIDC, then Web Application. Keep only the grant type Authorization Code.',
      'Enter the sign-in redirect URI. Remove the example of a sign-out redirect URI.',
      'Under Assignments, choose who may sign in, yourself included. Save.',
      'The tab General shows the client ID and the client secret. The issuer is the URL of your organization.',
    ],
    issuer: 'https://your-org.okta.com',
  },
  'okta-saml': {
    name: 'Okta',
    protocol: 'saml',
    isTested: false,
    values: [
      ['Single sign-on URL', 'acsUrl'],
      ['Audience URI (SP Entity ID)', 'entityId'],
    ],
    steps: [
      'In the Admin Console, open Applications, choose Create App Integration, then SAML 2.0.',
      'Enter the two values. Name ID format: Persistent.',
      'Add an attribute statement with the name email and the value user.email. Finish.',
      'Under Assignments, assign the people or groups who may sign in, yourself included.',
      'On the tab Sign On, open the metadata of the identity provider, and save it as a file.',
    ],
  },
  'entra-oidc': {
    name: 'Microsoft Entra ID',
    protocol: 'oidc',
    isTested: false,
    values: [['Redirect URI (Web)', 'redirectUri']],
    steps: [
      'In the admin center, open App registrations, and choose New registration. Accounts: this directory only.',
      'Under Redirect URI, choose Web, and enter the redirect URI. Register.',
      'Under Certificates & secrets, add a client secret. Copy its Value at once, not its ID.',
      'Under Token configuration, add the optional claim email to the ID token.',
      'The overview shows the application (client) ID, and the directory (tenant) ID, which is a part of the issuer.',
    ],
    issuer: 'https://login.microsoftonline.com/TENANT-ID/v2.0',
  },
  'entra-saml': {
    name: 'Microsoft Entra ID',
    protocol: 'saml',
    isTested: false,
    values: [
      ['Identifier (Entity ID)', 'entityId'],
      ['Reply URL (Assertion Consumer Service URL)', 'acsUrl'],
      ['Sign on URL', 'startUrl'],
    ],
    steps: [
      'In the admin center, open Enterprise apps, choose New application, then Create your own application, outside of the gallery.',
      'Open Single sign-on, choose SAML, and edit the Basic SAML Configuration: enter the values.',
      'Under Users and groups, assign who may sign in, yourself included.',
      'Under SAML Certificates, download the Federation Metadata XML.',
    ],
  },
  'google-saml': {
    name: 'Google Workspace',
    protocol: 'saml',
    isTested: false,
    values: [
      ['ACS URL', 'acsUrl'],
      ['Entity ID', 'entityId'],
      ['Start URL', 'startUrl'],
    ],
    steps: [
      'In the Admin console, open Apps, Web and mobile apps, and add a custom SAML app.',
      'Download the metadata of the identity provider.',
      'Enter the values. Name ID: the primary email.',
      'Under Attribute mapping, map the primary email to the attribute email. Finish.',
      'Under User access, switch the app on for those who may sign in. This can take some minutes.',
    ],
  },
  'adfs-saml': {
    name: 'ADFS',
    protocol: 'saml',
    isTested: false,
    values: [
      ['Federation metadata address', 'metadataUrl'],
      ['Relying party trust identifier', 'entityId'],
      ['Assertion consumer endpoint (POST)', 'acsUrl'],
    ],
    steps: [
      'In AD FS Management, add a relying party trust: claims aware, with the federation metadata address. If the server can’t reach it, enter the other two values by hand.',
      'Choose an access control policy that permits those who may sign in.',
      'Add a rule that sends the LDAP attribute E-Mail-Addresses as E-Mail Address.',
      'Add a rule that transforms a value that never changes for a person into a Name ID with the format Persistent.',
      'The metadata is at https://YOUR-SERVER/FederationMetadata/2007-06/FederationMetadata.xml: save it as a file.',
    ],
  },
  'onelogin-oidc': {
    name: 'OneLogin',
    protocol: 'oidc',
    isTested: false,
    values: [
      ['Redirect URI', 'redirectUri'],
      ['Login URL', 'startUrl'],
    ],
    steps: [
      'In the administration, open Applications, add an app, and choose OpenID Connect.',
      'On the tab Configuration, enter the values. Save.',
      'On the tab Access or Users, assign those who may sign in, yourself included.',
      'The tab SSO shows the client ID, the client secret and the issuer URL.',
    ],
    issuer: 'https://your-org.onelogin.com/oidc/2',
  },
  'onelogin-saml': {
    name: 'OneLogin',
    protocol: 'saml',
    isTested: false,
    values: [
      ['Audience (Entity ID)', 'entityId'],
      ['Recipient, and ACS (Consumer) URL', 'acsUrl'],
      ['Login URL', 'startUrl'],
    ],
    steps: [
      'In the administration, open Applications, add an app, and choose the custom SAML connector (advanced).',
      'On the tab Configuration, enter the values. The validator of the ACS URL is the same URL as a regular expression.',
      'On the tab Parameters, add email with the value Email, and include it in the assertion.',
      'On the tab Access or Users, assign those who may sign in, yourself included.',
      'Under More Actions, download the SAML metadata.',
    ],
  },
  'jumpcloud-oidc': {
    name: 'JumpCloud',
    protocol: 'oidc',
    isTested: false,
    values: [
      ['Redirect URI', 'redirectUri'],
      ['Login URL', 'startUrl'],
    ],
    steps: [
      'In the admin portal, open SSO Applications, and add a custom application with single sign-on by OIDC.',
      'Enter the values. Client authentication: Client Secret Basic. Include the standard scope Email.',
      'Activate it, and copy the client ID and the client secret at once.',
      'Under User Groups, assign those who may sign in, yourself included.',
    ],
    issuer: 'https://oauth.id.jumpcloud.com/',
  },
  'jumpcloud-saml': {
    name: 'JumpCloud',
    protocol: 'saml',
    isTested: false,
    values: [
      ['SP Entity ID', 'entityId'],
      ['ACS URL', 'acsUrl'],
      ['Login URL', 'startUrl'],
    ],
    steps: [
      'In the admin portal, open SSO Applications, and add a custom application with single sign-on by SAML.',
      'Enter the values. Sign the assertion.',
      'Add the attribute email with the value email. Activate it.',
      'Under User Groups, assign those who may sign in, yourself included.',
      'Export the metadata of the application.',
    ],
  },
  'keycloak-oidc': {
    name: 'Keycloak',
    protocol: 'oidc',
    isTested: false,
    values: [
      ['Valid redirect URI', 'redirectUri'],
      ['Home URL', 'startUrl'],
    ],
    steps: [
      'In the admin console, choose your realm, open Clients, and create a client of the type OpenID Connect. You choose its client ID.',
      'Switch Client authentication on. Keep only the Standard flow.',
      'Enter the values. Save.',
      'The tab Credentials shows the client secret.',
    ],
    issuer: 'https://HOST/realms/REALM',
  },
  'keycloak-saml': {
    name: 'Keycloak',
    protocol: 'saml',
    isTested: false,
    values: [
      ['Client ID', 'entityId'],
      ['Valid redirect URI, and Master SAML Processing URL', 'acsUrl'],
    ],
    steps: [
      'In the admin console, choose your realm, open Clients, and create a client of the type SAML.',
      'Enter the values. Name ID format: persistent. Force the name ID format.',
      'On the tab Keys, switch the client signature off.',
      'In the dedicated client scope, add the predefined mapper X500 email.',
      'The metadata is at https://HOST/realms/REALM/protocol/saml/descriptor: save it as a file.',
    ],
  },
  'simplesamlphp-saml': {
    name: 'SimpleSAMLphp',
    protocol: 'saml',
    isTested: true,
    values: [
      ['Entity ID', 'entityId'],
      ['AssertionConsumerService', 'acsUrl'],
    ],
    steps: [
      'In metadata/saml20-sp-remote.php, add an entry whose key is the entity ID, with AssertionConsumerService, and with NameIDFormat urn:oasis:names:tc:SAML:2.0:nameid-format:persistent.',
      'Under authproc of the entry, add the filter saml:PersistentNameID, with an attribute that never changes for a person, such as uid. Without the filter, the NameID is transient.',
      'Let SimpleSAMLphp send the email address as the attribute mail.',
      'The metadata of your identity provider is on the page Federation of SimpleSAMLphp: save it as a file.',
    ],
  },
  'other-oidc': {
    name: 'Another product',
    protocol: 'oidc',
    isTested: null,
    values: [
      ['Redirect URI', 'redirectUri'],
      ['Initiate login URI, only if it demands one', 'startUrl'],
    ],
    steps: [
      'Register a confidential web application that uses the authorization code flow.',
      'Enter the redirect URI. Client authentication: client_secret_basic. PKCE, if it asks: S256.',
      'Allow the scopes openid and email, and let your provider send the claim email.',
      'Assign those who may sign in, yourself included, if your product asks for it.',
      'Copy the issuer, the client ID and the client secret.',
    ],
    issuer: 'https://login.example.com',
  },
  'other-saml': {
    name: 'Another product',
    protocol: 'saml',
    isTested: null,
    values: [
      ['Metadata URL', 'metadataUrl'],
      ['Entity ID', 'entityId'],
      ['ACS URL (HTTP-POST)', 'acsUrl'],
    ],
    steps: [
      'Register our service as a SAML 2.0 service provider: with our metadata URL, or with our entity ID and ACS URL.',
      'Let your identity provider send a persistent NameID, which never changes for a person, and the email address as the attribute email or mail.',
      'Let your identity provider sign the response or the assertion with RSA-SHA256.',
      'Assign those who may sign in, yourself included, if your product asks for it.',
      'Save the metadata (XML) of your identity provider as a file.',
    ],
  },
}

export const protocolNames: Record<Protocol, string> = {
  oidc: 'OpenID Connect',
  saml: 'SAML',
}
