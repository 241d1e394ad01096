import { mkdirSync, writeFileSync } from 'node:fs'
import { newKeyPair } from '../../../lib/sso/saml/key-pair'
import { type Program, responds, startProgram, temporaryFolder } from '../servers/program'
import { freePort } from '../servers/server'

/** A client of the OpenID provider. */
export type OidcClient = { id: string; secret: string; redirectUri: string }

/** A service provider of the SAML identity provider. */
export type ServiceProvider = {
  /** The metadata of the service provider. */
  metadata: string
  encryptAssertions?: boolean
  requireSignedRequests?: boolean
  /** Whether the request decides the format of the NameID, instead of the provider. */
  readNameIdFormat?: boolean
}

export type LemonLdap = {
  /** The issuer of the OpenID provider. */
  issuer: string
  /** The metadata URL of the SAML identity provider. */
  metadataUrl: string
  /** The user of our domain. The password is the user name. */
  userName: string
  email: string
  /** Replaces the clients or the service providers. */
  configure: (next: Partial<Clients>) => Promise<void>
  /** Returns the link of a tile in the portal. */
  tileOf: (serviceProviderId: string) => string
  output: () => string
  stop: () => Promise<void>
}

type Clients = { oidcClients: OidcClient[]; serviceProviders: ServiceProvider[] }

// Serves the files that Apache would serve, and adds a user of our domain to the demo
// users.
const application = (userName: string, email: string) => `
use Plack::Builder;
use Lemonldap::NG::Portal::Main;
use Lemonldap::NG::Portal::UserDB::Demo;
$Lemonldap::NG::Portal::UserDB::Demo::demoAccounts{'${userName}'} = { uid => '${userName}', cn => 'Ada', mail => '${email}' };
builder {
  enable 'Static', path => qr{^/static/}, root => '/usr/share/lemonldap-ng/portal/htdocs';
  enable 'Static', path => sub { s{^/javascript/}{} }, root => '/usr/share/javascript';
  Lemonldap::NG::Portal::Main->run({});
};
`

const quoted = (entries: Record<string, string>) =>
  `{ ${Object.entries(entries)
    .map(([name, value]) => `'${name}' => '${value}'`)
    .join(', ')} }`

/**
 * Starts LemonLDAP::NG with a user of a domain, as OpenID provider and SAML identity
 * provider.
 */
export async function startLemonLdap(domain: string): Promise<LemonLdap> {
  const folder = temporaryFolder('lemonldap')
  const port = await freePort()
  const origin = `http://127.0.0.1:${port}`
  const metadataUrl = `${origin}/saml/metadata`
  const userName = 'ada'
  const email = `${userName}@${domain}`
  const keys = await newKeyPair('LemonLDAP::NG')
  for (const name of ['conf', 'cache', 'sessions/lock', 'psessions/lock'])
    mkdirSync(`${folder.path}/${name}`, { recursive: true })
  writeFileSync(`${folder.path}/portal.psgi`, application(userName, email))
  const settings = { LLNG_DEFAULTCONFFILE: `${folder.path}/lemonldap-ng.ini` }
  const cache = quoted({
    namespace: 'conf',
    cache_root: `${folder.path}/cache`,
    default_expires_in: '600',
  })
  writeFileSync(
    settings.LLNG_DEFAULTCONFFILE,
    `[all]
logger = Lemonldap::NG::Common::Logger::Std
userLogger = Lemonldap::NG::Common::Logger::Std
logLevel = notice
[configuration]
type = File
dirName = ${folder.path}/conf
localStorage = Cache::FileCache
localStorageOptions = ${cache}
[portal]
staticPrefix = /static
templateDir = /usr/share/lemonldap-ng/portal/templates
languages = en
[handler]
status = 0
`,
  )
  let program: Program | undefined
  let version = 0
  const configure = async (next: Partial<Clients>) => {
    // without a restart, it would reload its configuration only after a while
    await program?.stop()
    const clients = { oidcClients: [], serviceProviders: [], ...next }
    const configuration = configurationOf({
      cfgNum: ++version,
      origin,
      folder: folder.path,
      keys,
      ...clients,
    })
    writeFileSync(
      `${folder.path}/conf/lmConf-${version}.json`,
      JSON.stringify(configuration),
    )
    // Several workers, because Chromium opens connections in advance and each of them
    // occupies a worker.
    const options = ['--listen', `127.0.0.1:${port}`, '--workers', '4', '--preload-app'] // exits if the app can’t load
    const command = ['/usr/bin/starman', ...options, `${folder.path}/portal.psgi`]
    program = await startProgram(command, () => responds(metadataUrl), settings)
  }
  await configure({})
  return {
    issuer: `${origin}/`,
    metadataUrl,
    userName,
    email,
    configure,
    tileOf: (id) =>
      `${origin}/saml/singleSignOn?IDPInitiated=1&sp=${encodeURIComponent(id)}`,
    output: () => program!.output(),
    stop: async () => {
      await program?.stop()
      folder.remove()
    },
  }
}

type Configuration = Clients & {
  cfgNum: number
  origin: string
  folder: string
  keys: Awaited<ReturnType<typeof newKeyPair>>
}

function configurationOf({
  cfgNum,
  origin,
  folder,
  keys,
  oidcClients,
  serviceProviders,
}: Configuration): object {
  const { privateKey, certificate } = keys
  const sessions = (name: string) => ({
    Directory: `${folder}/${name}`,
    LockDirectory: `${folder}/${name}/lock`,
    generateModule: 'Lemonldap::NG::Common::Apache::Session::Generate::SHA256',
  })
  const named = <Item>(
    prefix: string,
    items: Item[],
    describe: (item: Item) => unknown,
  ) =>
    Object.fromEntries(items.map((item, index) => [`${prefix}${index}`, describe(item)]))
  const clients = <Value>(describe: (client: OidcClient) => Value) =>
    named('client', oidcClients, describe)
  const services = <Value>(describe: (service: ServiceProvider) => Value) =>
    named('sp', serviceProviders, describe)
  return {
    cfgNum,
    cfgAuthor: 'test',
    cfgDate: Math.floor(Date.now() / 1000),
    portal: `${origin}/`,
    domain: '127.0.0.1',
    cookieName: 'lemonldap',
    securedCookie: 0,
    sameSite: 'Lax',
    key: 'a-key-of-the-tests',
    authentication: 'Demo',
    userDB: 'Same',
    passwordDB: 'Null',
    locationRules: { '127.0.0.1': { default: 'accept' } },
    demoExportedVars: { uid: 'uid', cn: 'cn', mail: 'mail' },
    globalStorage: 'Apache::Session::File',
    globalStorageOptions: sessions('sessions'),
    persistentStorage: 'Apache::Session::File',
    persistentStorageOptions: sessions('psessions'),
    localSessionStorage: 'Cache::FileCache',
    localSessionStorageOptions: {
      namespace: 'sessions',
      cache_root: `${folder}/cache`,
      default_expires_in: 600,
    },

    issuerDBOpenIDConnectActivation: 1,
    oidcServicePrivateKeySig: privateKey,
    oidcServicePublicKeySig: certificate,
    oidcServiceKeyIdSig: 'key-of-lemonldap',
    oidcRPMetaDataExportedVars: clients(() => ({ email: 'mail', name: 'cn' })),
    oidcRPMetaDataOptions: clients(({ id, secret, redirectUri }) => ({
      oidcRPMetaDataOptionsClientID: id,
      oidcRPMetaDataOptionsClientSecret: secret,
      oidcRPMetaDataOptionsRedirectUris: redirectUri,
      oidcRPMetaDataOptionsRequirePKCE: 1,
      oidcRPMetaDataOptionsIDTokenSignAlg: 'RS256',
      oidcRPMetaDataOptionsBypassConsent: 0,
    })),

    issuerDBSAMLActivation: 1,
    samlEntityID: '#PORTAL#/saml/metadata',
    samlServicePrivateKeySig: privateKey,
    samlServicePublicKeySig: certificate,
    samlServiceUseCertificateInResponse: 1,
    samlServiceSignatureMethod: 'RSA_SHA256',
    samlSPMetaDataXML: services(({ metadata }) => ({ samlSPMetaDataXML: metadata })),
    samlSPMetaDataExportedAttributes: services(() => ({
      mail: '1;mail;urn:oasis:names:tc:SAML:2.0:attrname-format:basic;',
    })),
    samlSPMetaDataOptions: services((service) => ({
      samlSPMetaDataOptionsNameIDFormat: service.readNameIdFormat ? '' : 'persistent',
      samlSPMetaDataOptionsSignSSOMessage: 1,
      samlSPMetaDataOptionsCheckSSOMessageSignature: service.requireSignedRequests
        ? 1
        : 0,
      samlSPMetaDataOptionsEncryptionMode: service.encryptAssertions
        ? 'assertion'
        : 'none',
      samlSPMetaDataOptionsEnableIDPInitiatedURL: 1,
    })),
  }
}
