import { mkdirSync, writeFileSync } from 'node:fs'
import { responds, startProgram, temporaryFolder } from '../servers/program'
import { type ClientValues, cutOut, type RealClient } from './recipe'

// The portal, and an app that it protects.
const application = `
package App;
use Mouse;
extends 'Lemonldap::NG::Handler::PSGI';

sub init {
  my ( $self, $settings ) = @_;
  $self->protection('authenticate');
  return $self->SUPER::init($settings);
}

sub handler {
  my ( $self, $req ) = @_;
  my ( $sub, $email ) = @{ $req->userData }{ 'uid', 'mail' };
  return [ 200, [ 'Content-Type' => 'text/plain' ], ["$sub $email"] ];
}

package main;
use Plack::Builder;
use Lemonldap::NG::Portal::Main;
my $app = App->run({});
my $portal = Lemonldap::NG::Portal::Main->run({});
builder {
  enable 'Static', path => qr{^/static/}, root => '/usr/share/lemonldap-ng/portal/htdocs';
  enable 'Static', path => sub { s{^/javascript/}{} }, root => '/usr/share/javascript';
  mount '/app' => $app;
  mount '/' => $portal;
};
`

/** Starts the portal of Debian's LemonLDAP::NG with the recipe, and an app that shows the claims. */
export async function startLemonLdapPortal(values: ClientValues): Promise<RealClient> {
  const { port, redirectUri } = values
  const { origin } = new URL(redirectUri)
  const url = `${origin}/app/`
  const folder = temporaryFolder('lemonldap-client')
  await writeFiles(folder.path, origin, values)

  const options = ['--listen', `127.0.0.1:${port}`, '--workers', '4', '--preload-app']
  const program = await startProgram(
    ['/usr/bin/starman', ...options, `${folder.path}/portal.psgi`],
    () => responds(`${origin}/static/common/favicon.ico`),
    { LLNG_DEFAULTCONFFILE: `${folder.path}/lemonldap-ng.ini`, PERL5LIB: folder.path },
  )

  return {
    url,
    redirectUri,
    begin: async (browser) =>
      (await browser.get(origin, { maxRedirects: 0 })).headers().location!,
    open: async (page) => {
      await page.goto(url)
    },
    signOut: (page) => page.goto(`${origin}/?logout=1`),
    stop: async () => {
      await program.stop()
      folder.remove()
    },
  }
}

/** Writes the portal, its configuration, and the plugin. */
async function writeFiles(
  folder: string,
  origin: string,
  { issuer, slug, secret, port }: ClientValues,
): Promise<void> {
  for (const name of ['conf', 'cache', 'sessions/lock'])
    mkdirSync(`${folder}/${name}`, { recursive: true })
  writeFileSync(`${folder}/portal.psgi`, application)
  writeFileSync(`${folder}/lemonldap-ng.ini`, localSettings(folder))
  const plugin = cutOut('lemonldap-plugin', { 'https://login.example.com': issuer })
  writeFileSync(`${folder}/CheckedSignIn.pm`, plugin)

  const recipe = cutOut('lemonldap', { '"app"': `"${slug}"`, CLIENT_SECRET: secret })
  const configuration = {
    ...projectSettings(origin, port, folder),
    ...JSON.parse(recipe),
    // what the Manager reads from the URLs
    oidcOPMetaDataJSON: {
      login: await read(`${issuer}/.well-known/openid-configuration`),
    },
    oidcOPMetaDataJWKS: { login: await read(`${issuer}/.well-known/openid-jwks.json`) },
  }
  writeFileSync(`${folder}/conf/lmConf-1.json`, JSON.stringify(configuration))
}

const read = async (url: string) => (await fetch(url)).text()

const localSettings = (folder: string) => `[all]
logger = Lemonldap::NG::Common::Logger::Std
userLogger = Lemonldap::NG::Common::Logger::Std
logLevel = notice
[configuration]
type = File
dirName = ${folder}/conf
localStorage = Cache::FileCache
localStorageOptions = { namespace => 'conf', cache_root => '${folder}/cache', default_expires_in => '600' }
[portal]
staticPrefix = /static
templateDir = /usr/share/lemonldap-ng/portal/templates
languages = en
[handler]
status = 0
`

const projectSettings = (origin: string, port: number, folder: string) => ({
  cfgNum: 1,
  cfgAuthor: 'test',
  cfgDate: 1,
  portal: `${origin}/`,
  domain: '127.0.0.1',
  cookieName: 'lemonldap',
  securedCookie: 0,
  sameSite: 'Lax',
  key: 'a-key-of-the-tests',
  passwordDB: 'Null',
  locationRules: { '127.0.0.1': { default: 'accept' } },
  port,
  globalStorage: 'Apache::Session::File',
  globalStorageOptions: {
    Directory: `${folder}/sessions`,
    LockDirectory: `${folder}/sessions/lock`,
    generateModule: 'Lemonldap::NG::Common::Apache::Session::Generate::SHA256',
  },
  persistentStorage: 'Apache::Session::File',
  persistentStorageOptions: {
    Directory: `${folder}/sessions`,
    LockDirectory: `${folder}/sessions/lock`,
  },
  localSessionStorage: 'Cache::FileCache',
  localSessionStorageOptions: {
    namespace: 'sessions',
    cache_root: `${folder}/cache`,
    default_expires_in: 600,
  },
})
