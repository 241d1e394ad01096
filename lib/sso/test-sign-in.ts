// A test sign-in: verifies a response as a real sign-in does, and describes the result.
// Signs nobody in, and stores only that it succeeded.
import { emailDomain, foldCase } from '../contract/email-address'
import { prisma } from '../database/prisma'
import { describeCause, log } from '../log/log'
import type { ClaimedAttempt } from './attempt'
import { type Connection, readDomain } from './connection'
import { type Contact, type Decision, foresee } from './identity'
import { loadReport } from './kinds'
import type { Authenticated, ProviderSignIn } from './provider'
import { SignInRejected } from './rejection'
import { decryptSecrets } from './secrets'
import { showsWorking } from './setup/check-meanings'
import type { Expected, ProviderReport, Received, Step, TraceEntry } from './trace'

export type StepState = 'passed' | 'failed' | 'not reached' | 'not needed'

/** The result of a test, without what must not be shown. Every text may be hostile. */
export type Report = {
  slug: string
  outcome: { decision: 'known' | 'link' | 'create'; email: string } | { check: string }
  steps: { label: string; state: StepState }[]
  isVerified: boolean
  /** How far the clock of the provider is ahead of ours. Null if unknown. */
  aheadSeconds: number | null
  received: Received[]
  expected: Expected[]
  account: Account | null
}

type Account = {
  issuer: string
  subject: string
  email: string | null
  source: string | null
  isVerified: boolean | null
  domain: 'live' | 'trial' | 'not of this connection' | null
}

const requestStep = {
  label: 'The response refers to our request',
  checks: /^(state_|unsolicited|connection_)/,
}
const addressStep = {
  label: 'The email address can be used',
  checks: /^(email_|user_info_)/,
}
const accountStep = {
  label: 'A user may sign in',
  checks: /^(identity_|subject_|user_)/,
}

/**
 * Verifies a response to a claimed test, and returns its report. Stores when it succeeded.
 * Never throws for a response, whatever it contains.
 */
export async function testSignIn(
  connection: Connection,
  provider: ProviderSignIn,
  response: URLSearchParams,
  claimed: ClaimedAttempt,
): Promise<Report> {
  const entries: TraceEntry[] = []
  const trace = (entry: TraceEntry) => entries.push(entry)
  const found: Found = { authenticated: null, contact: null, decision: null }

  const decision = await catchRejection(async () => {
    const authenticated = await provider.authenticate(
      connection,
      response,
      claimed,
      trace,
    )
    found.authenticated = authenticated
    return decideTest(connection, authenticated, found)
  })

  const shown = { ...found, decision }
  const report = await describe(connection, response, claimed, entries, shown)
  await recordTest(connection, report, claimed)

  return report
}

/** Returns the report of a test whose response could not be read. */
export async function reportRejection(
  connection: Connection,
  rejection: SignInRejected,
  response = new URLSearchParams(),
): Promise<Report> {
  const found = { authenticated: null, contact: null, decision: rejection }
  return describe(connection, response, null, [], found)
}

type Found = {
  authenticated: Authenticated | null
  contact: Contact | null
  decision: Decision | null
}

async function decideTest(
  connection: Connection,
  { identity, contact }: Authenticated,
  found: Found,
): Promise<Decision> {
  let asked: Promise<Contact> | undefined
  const ask = async () => {
    asked ??= contact()
    found.contact = await asked
    return found.contact
  }

  const decision = await foresee(connection, identity, ask)
  await ask().catch(() => null) // a linked user needs no address

  return decision
}

async function catchRejection(work: () => Promise<Decision>): Promise<Decision> {
  try {
    return await work()
  } catch (thrown) {
    if (thrown instanceof SignInRejected) return thrown

    log.error({ cause: describeCause(thrown) }, 'a test sign-in failed')
    return new SignInRejected('internal', 'unavailable')
  }
}

/**
 * Stores that the connection works. `npm run connections -- activate` and the setup link of
 * the test ask for it. In a test of a link, a missing user is no failure: its holder, who
 * has no account here, can't add one.
 */
async function recordTest(
  connection: Connection,
  { outcome, account }: Report,
  { setupLinkId }: ClaimedAttempt,
): Promise<void> {
  const isSetup = setupLinkId !== null
  if ('check' in outcome && !(isSetup && showsWorking(outcome.check))) return

  await prisma()
    .$executeRaw`UPDATE connections SET tried_at = now() WHERE id = ${connection.id}`

  if (!isSetup) return
  const email = 'check' in outcome ? account!.email!.toLowerCase() : outcome.email
  const { recordLinkTest } = await import('./setup/link')
  await recordLinkTest(setupLinkId, connection, email)
}

async function describe(
  connection: Connection,
  response: URLSearchParams,
  claimed: ClaimedAttempt | null,
  entries: TraceEntry[],
  found: Found & { decision: Decision },
): Promise<Report> {
  const kind = await loadReport(connection)
  const described = kind.describe(connection, response, entries)
  const isVerified = entries.some((entry) => 'isVerified' in entry)
  const secrets = await findSecrets(connection, claimed, described.secrets)
  const { issuedAt } = described

  return {
    slug: connection.slug,
    outcome: await describeOutcome(found),
    steps: listSteps(kind, isVerified, found),
    isVerified,
    aheadSeconds: issuedAt === null ? null : Math.round((issuedAt - Date.now()) / 1000),
    received: hideSecrets(described.received, secrets),
    expected: entries.length > 0 ? described.expected : [],
    account: await describeAccount(connection, described.received, found),
  }
}

async function describeOutcome({
  decision,
  contact,
}: Found & { decision: Decision }): Promise<Report['outcome']> {
  if (decision instanceof SignInRejected) return { check: decision.check }
  if (decision.outcome === 'create')
    return { decision: 'create', email: contact!.email.toLowerCase() }

  const user = await prisma().user.findUnique({
    where: { id: decision.userId },
    select: { email: true },
  })

  return { decision: decision.outcome, email: user?.email ?? '' }
}

/** Lists the steps of the sign-in, with the state of each. */
function listSteps(
  { verification, content }: ProviderReport<Connection>,
  isVerified: boolean,
  { decision, contact }: Found & { decision: Decision },
): Report['steps'] {
  const before = [requestStep, ...verification]
  const after = [content, addressStep, accountStep]
  const steps = [...before, ...after]
  const needsAddress = !('outcome' in decision) || decision.outcome !== 'known'

  const failed =
    decision instanceof SignInRejected
      ? findFailed(decision.check, before, after, isVerified)
      : steps.length

  return steps.map((step, index) => {
    const { label } = step
    if (index === failed) return { label, state: 'failed' }
    if (index > failed) return { label, state: 'not reached' }
    if (step === addressStep && !needsAddress && !contact)
      return { label, state: 'not needed' }

    return { label, state: 'passed' }
  })
}

/**
 * Returns the index of the failed step. What is trusted only after the verification can't
 * fail before it, and the reverse.
 */
function findFailed(
  check: string,
  before: Step[],
  after: Step[],
  isVerified: boolean,
): number {
  const belongs = ({ checks }: Step) => checks.test(check)
  if (!isVerified) {
    const index = before.findIndex(belongs)
    return index < 0 ? before.length - 1 : index
  }

  return before.length + Math.max(0, after.findIndex(belongs))
}

async function describeAccount(
  connection: Connection,
  received: Received[],
  { authenticated, contact, decision }: Found,
): Promise<Account | null> {
  const identity = authenticated?.identity ?? (decision as SignInRejected).identity
  if (!identity) return null

  const { issuer, subject } = identity
  const email = contact?.email ?? null

  return {
    issuer,
    subject,
    email,
    source: email && findSource(received, email),
    isVerified: contact?.isVerified ?? null,
    domain: email === null ? null : await findDomainState(connection, email),
  }
}

/** Returns where an address came from, such as `email (ID token)`. */
function findSource(received: Received[], email: string): string | null {
  const isAddress = (value: unknown) =>
    [value].flat().some((each) => foldCase(String(each).trim()) === foldCase(email))

  const places = received.flatMap(({ from, values }) =>
    values
      .filter(([, value]) => isAddress(value))
      .map(([name]) => ({ from, name, usual: /mail/i.test(name) })),
  )
  const place = places.find(({ usual }) => usual) ?? places[0]

  return place ? `${place.name} (${place.from})` : null
}

async function findDomainState(
  { id }: Connection,
  email: string,
): Promise<Account['domain']> {
  const domain = readDomain(email) ?? emailDomain(email)
  const row = await prisma().connectionDomain.findUnique({
    where: { domain_connectionId: { domain, connectionId: id } },
    select: { liveSince: true },
  })

  if (!row) return 'not of this connection'
  return row.liveSince ? 'live' : 'trial'
}

const minSecretLength = 8

/** Returns the secrets of a test, of the connection, and of the response. */
async function findSecrets(
  connection: Connection,
  claimed: ClaimedAttempt | null,
  ofResponse: string[],
): Promise<string[]> {
  const ofConnection = await decryptSecrets(connection).catch(() => ({}))
  const { state = '', nonce = '', codeVerifier = '' } = claimed ?? {}
  const all = [state, nonce, codeVerifier, ...Object.values(ofConnection), ...ofResponse]

  return all.filter((secret) => secret.length >= minSecretLength)
}

const token = /\beyJ[\w-]{10,}\.[\w-]+\.[\w-]*/

/** Replaces values that contain a secret, or a JWT. */
function hideSecrets(received: Received[], secrets: string[]): Received[] {
  const isSecret = (text: string) =>
    token.test(text) || secrets.some((secret) => text.includes(secret))

  return received.map(({ from, values }) => ({
    from,
    values: values.map(([name, value]) => {
      const text = formatValue(value)
      return [name, isSecret(text) ? '(not shown: a secret of this sign-in)' : text]
    }),
  }))
}

function formatValue(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? '')
}
