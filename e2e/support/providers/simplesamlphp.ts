import { mkdirSync, writeFileSync } from 'node:fs'
import { newKeyPair } from '../../../lib/sso/saml/key-pair'
import { responds, startProgram, temporaryFolder } from '../servers/program'
import { freePort } from '../servers/server'

/** How the identity provider responds, with the option names of its own configuration. */
export type SimpleSamlOptions = {
  'saml20.sign.response'?: boolean
  'saml20.sign.assertion'?: boolean
  'assertion.encryption'?: boolean
  /** Rejects requests that are not signed. */
  'validate.authnrequest'?: boolean
}

export type SimpleSaml = {
  metadataUrl: string
  entityId: string
  userName: string
  password: string
  /**
   * Sets the metadata of its only service provider, the user’s email address, and how it
   * responds.
   */
  configure: (next: {
    serviceProvider: string
    email: string
    options: SimpleSamlOptions
  }) => void
  /** Returns the link of a tile in the portal. */
  tileOf: (serviceProviderId: string) => string
  output: () => string
  stop: () => Promise<void>
}

/** Starts SimpleSAMLphp as SAML identity provider. */
export async function startSimpleSaml(): Promise<SimpleSaml> {
  const folder = temporaryFolder('simplesamlphp')
  const at = (name: string) => `${folder.path}/${name}`
  const port = await freePort()
  const origin = `http://127.0.0.1:${port}`
  const metadataUrl = `${origin}/saml2/idp/metadata.php`
  const [userName, password] = ['ada', 'a password of ada']
  const keys = await newKeyPair('SimpleSAMLphp')
  for (const name of ['cert', 'data', 'metadata', 'sessions', 'tmp']) mkdirSync(at(name))
  writeFileSync(at('cert/idp.pem'), keys.privateKey)
  writeFileSync(at('cert/idp.crt'), keys.certificate)

  // The configuration files read the changeable settings from this file at each request.
  const readSettings = `json_decode(file_get_contents('${at('settings.json')}'), true)`
  const configure: SimpleSaml['configure'] = ({ serviceProvider, email, options }) => {
    writeFileSync(at('service-provider.xml'), serviceProvider)
    writeFileSync(at('settings.json'), JSON.stringify({ email, options }))
  }
  const serviceProvider =
    '<EntitiesDescriptor xmlns="urn:oasis:names:tc:SAML:2.0:metadata"/>'
  configure({ serviceProvider, email: '', options: {} })
  writeFileSync(
    at('config.php'),
    `<?php
$config = [
  'baseurlpath' => '${origin}/',
  'certdir' => '${at('cert/')}', 'datadir' => '${at('data/')}', 'tempdir' => '${at('tmp')}',
  'metadatadir' => '${at('metadata')}',
  'metadata.sources' => [['type' => 'flatfile'], ['type' => 'xml', 'file' => '${at('service-provider.xml')}']],
  'secretsalt' => 'a-salt-of-the-tests', 'auth.adminpassword' => 'not used', 'timezone' => 'UTC',
  'technicalcontact_name' => 'Test', 'technicalcontact_email' => 'test@example.org',
  'enable.saml20-idp' => true,
  'module.enable' => ['exampleauth' => true, 'core' => true, 'saml' => true],
  'store.type' => 'phpsession', 'session.phpsession.savepath' => '${at('sessions')}',
  'session.cookie.secure' => false, 'session.cookie.samesite' => null, // without https
  'logging.handler' => 'errorlog', 'showerrors' => true, 'errorreporting' => false,
];
`,
  )
  writeFileSync(
    at('authsources.php'),
    `<?php
$config = ['users' => ['exampleauth:UserPass',
  '${userName}:${password}' => ['uid' => ['${userName}'], 'mail' => [${readSettings}['email']]]]];
`,
  )
  const nameIdFormat = 'urn:oasis:names:tc:SAML:2.0:nameid-format:persistent'
  writeFileSync(
    at('metadata/saml20-idp-hosted.php'),
    `<?php
$metadata['${metadataUrl}'] = ${readSettings}['options'] + [
  'host' => '__DEFAULT__', 'privatekey' => 'idp.pem', 'certificate' => 'idp.crt', 'auth' => 'users',
  'signature.algorithm' => 'http://www.w3.org/2001/04/xmldsig-more#rsa-sha256',
  'NameIDFormat' => '${nameIdFormat}', 'simplesaml.nameidattribute' => 'uid',
];
`,
  )
  const program = await startProgram(
    ['/usr/bin/php', '-S', `127.0.0.1:${port}`, '-t', '/usr/share/simplesamlphp/www'],
    () => responds(metadataUrl),
    { SIMPLESAMLPHP_CONFIG_DIR: folder.path },
  )
  return {
    metadataUrl,
    entityId: metadataUrl,
    userName,
    password,
    configure,
    tileOf: (id) =>
      `${origin}/saml2/idp/SSOService.php?spentityid=${encodeURIComponent(id)}`,
    output: program.output,
    stop: async () => {
      await program.stop()
      folder.remove()
    },
  }
}
