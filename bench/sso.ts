// `npm run bench:sso`: the CPU time of each step of a sign-in beside that of the library's call in it.
import { randomBytes } from 'node:crypto'
import { SAML } from '@node-saml/node-saml'
import * as client from 'openid-client'
import { startEmbeddedPostgres } from '../bin/embedded-postgres'
import { project } from '../bin/local'
import { newSigningKeys } from '../lib/settings/signing-keys'
import { openDatabase } from './database'
import { median } from './load'
import { connectProviders } from './providers'
import { benchUrl, buildProduct, type Server, startProgram, startServer, usageOf } from './servers'

const rounds = 5
const perRound = 200
const log = (line: string) => console.error(line)

type Step = 'OIDC start' | 'OIDC callback' | 'SAML start' | 'SAML ACS'
const results = new Map<Step, { product: number[]; library: number[] }>()

async function main(): Promise<void> {
  log('Building the product …')
  const built = buildProduct()
  const postgres = await startEmbeddedPostgres(`${project}.data/bench-postgres`, log)
  const database = await openDatabase(postgres.url, `bench_sso_${Date.now()}`, 1_000, log)
  const openid = await startProgram<{ issuer: string }>('openid-provider.ts')
  const settings = {
    DATABASE_URL: database.url,
    SESSION_SIGNING_KEYS: newSigningKeys(),
    CONNECTION_SECRETS_KEY: randomBytes(32).toString('base64'),
    RATE_LIMIT: 'in-process',
    TRUSTED_PROXIES: '1',
    LOG_LEVEL: 'warn',
  }
  Object.assign(process.env, { ...settings, PUBLIC_URL: benchUrl }) // for the commands in this process
  const server = await startServer(built, settings)
  try {
    await measureSteps(server, openid.message.issuer)
    report()
  } finally {
    await server.stop()
    await openid.stop()
    await database.drop()
    await postgres.release()
  }
}

async function measureSteps(server: Server, issuer: string): Promise<void> {
  const { oidcSlug: slug, clientSecret, saml, samlSlug } = await connectProviders(issuer)
  // Imported here, because they read the settings.
  const { Visitor } = await import('../e2e/support/sso-visitor')
  const { responseTo, SamlVisitor } = await import('../e2e/support/saml-visitor')
  const ours = saml.settings
  const library = new SAML({
    issuer: ours.entityId,
    audience: ours.entityId,
    callbackUrl: ours.acsUrl,
    entryPoint: ours.provider.ssoUrl,
    idpCert: ours.provider.certificates,
    privateKey: ours.privateKey,
    signatureAlgorithm: 'sha256',
    wantAuthnResponseSigned: false,
  })
  const configuration = await client.discovery(
    new URL(issuer),
    'the-client',
    {},
    client.ClientSecretBasic(clientSecret),
    {
      execute: [client.enableNonRepudiationChecks, client.allowInsecureRequests],
    },
  )
  const redirectUri = `${benchUrl}/api/auth/sso/${slug}/callback`
  const begin = async () => {
    const pkceCodeVerifier = client.randomPKCECodeVerifier()
    const [expectedState, expectedNonce] = [client.randomState(), client.randomNonce()]
    const url = client.buildAuthorizationUrl(configuration, {
      redirect_uri: redirectUri,
      scope: 'openid email profile',
      state: expectedState,
      nonce: expectedNonce,
      code_challenge: await client.calculatePKCECodeChallenge(pkceCodeVerifier),
      code_challenge_method: 'S256',
    })
    return { url, checks: { pkceCodeVerifier, expectedState, expectedNonce } }
  }

  for (let round = 0; round <= rounds; round++) {
    log(round === 0 ? 'Warming up …' : `Round ${round} of ${rounds} …`)
    const record = (step: Step, who: 'product' | 'library', cpuMs: number) => {
      if (round === 0) return
      if (!results.has(step)) results.set(step, { product: [], library: [] })
      results.get(step)![who].push(cpuMs)
    }
    const product = async <Result>(step: Step, act: (index: number) => Promise<Result>) => {
      const before = usageOf(server.process).cpuMs
      const made = await inTurns(act)
      record(step, 'product', (usageOf(server.process).cpuMs - before) / perRound)
      return made
    }
    const bare = async <Result>(step: Step, act: (index: number) => Promise<Result>) => {
      const before = process.cpuUsage()
      const made = await inTurns(act)
      const { user, system } = process.cpuUsage(before)
      record(step, 'library', (user + system) / 1000 / perRound)
      return made
    }

    const visitors = Array.from({ length: perRound }, () => new Visitor(server.url))
    const authorizations = await product('OIDC start', (index) => visitors[index]!.start(slug))
    const returns = await inTurns((index) => visitors[index]!.authorize(authorizations[index]!))
    const landings = await product('OIDC callback', (index) => visitors[index]!.comeBack(returns[index]!))
    check(landings)

    const begun = await bare('OIDC start', begin)
    const responses = await inTurns((index) => new Visitor(server.url).authorize(begun[index]!.url))
    await bare('OIDC callback', (index) =>
      client.authorizationCodeGrant(configuration, responses[index]!, begun[index]!.checks),
    )

    const samlVisitors = Array.from({ length: perRound }, () => new SamlVisitor(server.url))
    const requests = await product('SAML start', (index) => samlVisitors[index]!.begin(samlSlug))
    const posts = requests.map((request) => responseTo(saml, request))
    check(await product('SAML ACS', (index) => samlVisitors[index]!.deliver(requests[index]!, posts[index]!)))
    await bare('SAML start', () => library.getAuthorizeUrlAsync('x', undefined, {}))
    await bare('SAML ACS', (index) => library.validatePostResponseAsync({ SAMLResponse: posts[index]! }))
  }
}

/** Acts for each of the round, four at a time. */
async function inTurns<Result>(act: (index: number) => Promise<Result>): Promise<Result[]> {
  const made: Result[] = []
  let next = 0
  const worker = async () => {
    while (next < perRound) {
      const index = next++
      made[index] = await act(index)
    }
  }
  await Promise.all(Array.from({ length: 4 }, worker))
  return made
}

function check(landings: URL[]): void {
  const error = landings.find(({ searchParams }) => !searchParams.has('code'))
  if (error) throw new Error(`A sign-in ended at ${error.pathname}?${error.searchParams}`)
}

function report(): void {
  console.log(`| step | CPU ms of the product | CPU ms of the library | ratio |\n|---|---:|---:|---:|`)
  for (const [step, { product, library }] of results) {
    const [ours, theirs] = [median(product), median(library)]
    console.log(`| ${step} | ${ours.toFixed(2)} | ${theirs.toFixed(2)} | ${(ours / theirs).toFixed(1)} |`)
  }
  console.log(`\nMedians of ${rounds} rounds of ${perRound} sign-ins each, Node ${process.version}`)
}

main().then(
  () => process.exit(0),
  (error: Error) => {
    console.error(error.stack)
    process.exit(1)
  },
)
