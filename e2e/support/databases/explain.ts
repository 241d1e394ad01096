// Runs every statement of the service once on one connection of the pool, and prints the
// generic plans as JSON. This is a separate process because the settings of the pool
// can't change after its start.
import { randomUUID } from 'node:crypto'
import bcrypt from 'bcrypt'
import { issueAuthorizationCode, readDemand } from '../../../lib/client/authorize'
import { findClient, requireClient } from '../../../lib/client/client'
import { sendNotices } from '../../../lib/client/logout-notices'
import { revokeClientSession } from '../../../lib/client/revoke'
import { exchangeCode, refreshTokens } from '../../../lib/client/token'
import { exchangeSsoCode } from '../../../lib/code/exchange'
import { issueSsoCode } from '../../../lib/code/issue'
import { hashSecret, newSecret } from '../../../lib/crypto/token'
import { deleteExpiredRows } from '../../../lib/database/clean-up'
import { databasePool } from '../../../lib/database/pool'
import { findUnready } from '../../../lib/database/readiness'
import { recordFailedSignIn } from '../../../lib/event/failed-sign-in'
import { listOwnEvents } from '../../../lib/event/list'
import { findStart, issueTokenOfMail, recoveryCodesLeft } from '../../../lib/mail/claimed'
import { mailKinds } from '../../../lib/mail/kinds'
import {
  claimMail,
  finish,
  outboxStatus,
  postpone,
  queueResetMail,
  readOutboxBacklog,
  retryLater,
  retryNow,
} from '../../../lib/mail/outbox'
import { addPasskey, startRegistration } from '../../../lib/passkey/add'
import { findSignals, listPasskeys } from '../../../lib/passkey/list'
import { removePasskey, renamePasskey } from '../../../lib/passkey/manage'
import { addPasskeySetUp, startPasskeySetUp } from '../../../lib/passkey/set-up'
import { makeSignInOptions, signInWithPasskey } from '../../../lib/passkey/sign-in'
import { releaseAttempt } from '../../../lib/password/attempts'
import { canChangePassword, changePassword } from '../../../lib/password/change'
import { makeKnownBrowser } from '../../../lib/password/known-browser'
import { mailNewDevice } from '../../../lib/password/new-device'
import {
  findResetLink,
  issueResetToken,
  resetPassword,
} from '../../../lib/password/reset'
import { signIn as signInWithPassword } from '../../../lib/password/sign-in'
import { readPatch, readUser } from '../../../lib/scim/attributes'
import { listUsers } from '../../../lib/scim/find'
import { findDirectory, rejectToken } from '../../../lib/scim/token'
import { addUser, patchUser, removeUser } from '../../../lib/scim/write'
import { makeChallenge } from '../../../lib/second-factor/challenge'
import {
  confirmEnrolment,
  removeSecondFactor,
  replaceRecoveryCodes,
  startEnrolment,
} from '../../../lib/second-factor/change'
import { findFactor } from '../../../lib/second-factor/find'
import {
  confirmAppSetUp,
  requireSetUp,
  startAppSetUp,
} from '../../../lib/second-factor/set-up'
import { signInWithSecondFactor } from '../../../lib/second-factor/sign-in'
import {
  findRefreshableSession,
  findSession,
  isFamilyLive,
  isOfLiveClient,
  type LiveSession,
  requireLive,
} from '../../../lib/session/find'
import { requireFreshSession, requirePasskeySession } from '../../../lib/session/fresh'
import { listSessions } from '../../../lib/session/list'
import { refreshSession } from '../../../lib/session/refresh'
import { endOtherSessions, endSessions, noticeClients } from '../../../lib/session/revoke'
import { readRefreshToken, verifySessionToken } from '../../../lib/session/tokens'
import { env } from '../../../lib/settings/env'
import { claimAttempt, rejectLoop, startAttempt } from '../../../lib/sso/attempt'
import {
  type Connection,
  findConnection,
  findConnectionByEmail,
  listSignInChoices,
} from '../../../lib/sso/connection'
import { endProviderSessions } from '../../../lib/sso/end-provider-sessions'
import { findOrLinkUser } from '../../../lib/sso/identity'
import { recordRejected } from '../../../lib/sso/rejected'
import { SignInRejected } from '../../../lib/sso/rejection'
import { applyConnection, foreseeApply } from '../../../lib/sso/setup/apply'
import { createDraftColumns } from '../../../lib/sso/setup/draft'
import {
  findLinkBySecret,
  recordLinkTest,
  recordOpened,
} from '../../../lib/sso/setup/link'
import { saveValues } from '../../../lib/sso/setup/save'
import { findTarget, isUser } from '../../../lib/sso/setup/target'
import { findUnfinishedSettings } from '../../../lib/sso/setup/unfinished'
import { testSignIn } from '../../../lib/sso/test-sign-in'
import { createUser, findUserByEmail } from '../../../lib/user/user'
import { explainWidgetToken, findPresentedWidget } from '../../../lib/widget/session'
import { assert, newPasskey, register } from '../authenticator'
import { providerMetadata } from '../providers/saml-metadata'
import { caller } from './password-user'
import { totp } from './second-factor'

const email = 'ada@example.com'
const browser = { ...caller, browser: 'any browser' }
const withKey = { ...browser, idempotencyKey: 'any key' }

async function run(): Promise<void> {
  await findUnready()
  await createUser(email)
  const { id } = (await findUserByEmail(email))!
  const { secret: code } = await issueSsoCode(id)
  const { token, refreshToken, sessionId } = await exchangeSsoCode(code, caller)
  const withSession = { ...caller, sessionIds: Promise.resolve([sessionId]) }
  await exchangeSsoCode(code, withSession).catch(() => {}) // the code is reused
  const session = (await findSession(token))!
  await listSessions(session)
  await listOwnEvents(id)
  await recordFailedSignIn({ method: 'password', check: 'wrong', emails: [email] }, {})
  await endOtherSessions(session)
  await findRefreshableSession(refreshToken)
  await refreshSession(refreshToken)
  await useClient(sessionId)
  await endSessions([sessionId])
  await refreshSession(refreshToken).catch(() => {}) // looks up the reason
  const password = 'lantern meadow otter'
  const resetToken = (await issueResetToken(id)).secret
  await resetPassword(resetToken, password)
  await resetPassword(resetToken, password, withKey) // is repeated
  await resetPassword('any token', password).catch(() => {}) // looks up the reason
  await signInWithPassword(email, password, caller)
  await signInWithPassword(email, password, withKey) // looks up whether it is repeated
  const passwords = { currentPassword: password, password: 'otter lantern meadow' }
  await changePassword(session, passwords, caller)
  await changePassword(session, passwords, caller).catch(() => {}) // looks up whether it is repeated
  await canChangePassword(id)
  await releaseAttempt({ keys: [], endsAt: 0 })
  await databasePool().query('UPDATE users SET password_hash = $1', [
    await bcrypt.hash(password, 4),
  ])
  const knownBrowser = makeKnownBrowser(email, null, Math.floor(Date.now() / 1000))
  await signInWithPassword(email, password, { ...withSession, knownBrowser })
  // so that no email is sent
  const later = makeKnownBrowser(email, null, Math.floor(Date.now() / 1000) + 60)
  await mailNewDevice(
    { userId: id, sessionId, isRepeated: true },
    { ...caller, knownBrowser: later },
  )
  await useSecondFactor(id)
  await usePasskey(id)
  await useSetUp(id)
  await signIn()
  await useDirectory()
  await useSetupLink()
  await findPresentedWidget('any token', 'https://www.example.com')
  await explainWidgetToken('any token')
  await queueResetMail([email], caller)
  const mail = (await claimMail())! // the notice about the reset
  await issueTokenOfMail(mail, 'any secret')
  await findStart(mail)
  await retryLater(mail, mailKinds[mail.kind])
  await postpone(mail)
  await finish(mail, 'gave_up')
  await finish(mail, 'sent')
  await retryNow()
  await outboxStatus()
  await readOutboxBacklog()
  await deleteExpiredRows()

  const pool = databasePool()
  await pool.query('SET plan_cache_mode = force_generic_plan') // the plan cache may choose these plans after five executions
  const { rows } = await pool.query(
    `SELECT name, statement, cardinality(parameter_types) AS parameters, (parameter_types || result_types)::text[] AS types
     FROM pg_prepared_statements WHERE statement <> 'BEGIN'`,
  )
  const isModel = (statement: string) => statement.includes('"public"."')
  const withDate = rows.find(
    ({ statement, types }) => !isModel(statement) && types.join().includes('timestamp'),
  )
  if (withDate) throw new Error(`A Date crosses raw SQL: ${withDate.statement}`)
  const plans: Record<string, unknown> = {}
  for (const { name, statement, parameters } of rows) {
    const values = parameters > 0 ? `(${Array(parameters).fill('NULL').join()})` : ''
    const explained = await pool.query(`EXPLAIN (FORMAT JSON) EXECUTE "${name}"${values}`)
    plans[statement.trim().replaceAll(/\s+/g, ' ')] =
      explained.rows[0]['QUERY PLAN'][0].Plan
  }
  // The exit would discard what the reader has not taken from the pipe yet.
  await new Promise((resolve) => process.stdout.write(JSON.stringify(plans), resolve))
}

/** Runs every statement of an OpenID client, with a right and a wrong code. */
async function useClient(sessionId: string): Promise<void> {
  await databasePool().query(
    `INSERT INTO clients (slug, public, redirect_uris) VALUES ('page', true, '{https://page.example.com/}')`,
  )
  const client = (await findClient('page'))!
  const { id, redirectUris } = client
  const redirectUri = redirectUris[0]!
  const verifier = 'any secret'
  const request = {
    state: null,
    nonce: null,
    challenge: hashSecret(verifier),
    prompt: null,
    maxAge: 60,
    since: null,
    hint: null,
  }
  const credentials = { slug: 'page', secret: null }
  const { since } = (await readDemand(request, client, null))!
  const issue = (oldest: number | null) =>
    issueAuthorizationCode(sessionId, id, redirectUri, request, oldest)
  await issue(since)
  const code = (await issue(null))!
  const grant = { code, redirectUri, verifier }
  const { accessToken, refreshToken } = await exchangeCode(credentials, grant)
  const claims = await verifySessionToken(accessToken)
  for (const isAccepted of [isFamilyLive, isOfLiveClient]) {
    await requireLive(accessToken, claims, isAccepted)
    await requireLive(accessToken, null, isAccepted).catch(() => {}) // looks up the reason
  }
  await exchangeCode(credentials, grant).catch(() => {}) // looks up the reason
  await refreshTokens(credentials, refreshToken, readRefreshToken(refreshToken))
  const wrong = { slug: 'page', secret: 'any secret' }
  await refreshTokens(wrong, refreshToken, readRefreshToken(refreshToken)).catch(() => {})
  await requireClient(wrong).catch(() => {}) // looks up the reason
  await revokeClientSession(id, claims!.sessionId)
  await noticeClients(sessionId)
  await databasePool().query(
    'INSERT INTO logout_notices (client_id, session_id) VALUES ($1, $1)',
    [id],
  )
  await sendNotices() // the client has no URI
}

/**
 * Runs every statement of a second factor, from its start until it is switched off, with
 * both kinds of codes.
 */
async function useSecondFactor(userId: string): Promise<void> {
  const [password, nothing] = ['lantern meadow otter', () => {}]
  const { sessionId } = await signInWithPassword(email, password, caller)
  const session = { sessionId, userId, email, endsAt: new Date() }
  const { secret, enrolment } = await startEnrolment(session, { password }, caller)
  const confirmation = { enrolment, code: totp(secret) }
  const { recoveryCodes } = await confirmEnrolment(session, confirmation, caller)
  await confirmEnrolment(session, confirmation, caller) // is repeated
  await databasePool().query('UPDATE second_factors SET failures = 9')
  const given = [
    { code: '0' }, // the tenth wrong code
    { code: totp(secret, 1) },
    { recoveryCode: recoveryCodes[0] },
    { recoveryCode: 'wrong' },
  ]
  for (const each of given) {
    const { challenge } = makeChallenge((await findFactor(userId))!)
    await signInWithSecondFactor(challenge, each, browser).catch(nothing)
    await signInWithSecondFactor(challenge, each, browser).catch(nothing) // is repeated
  }
  await recoveryCodesLeft({ id: userId, attempts: 1 })
  await databasePool().query('UPDATE second_factors SET last_step = 0')
  await replaceRecoveryCodes(session, { password, code: totp(secret) }, caller)
  await removeSecondFactor(session, { password, recoveryCode: 'wrong' }, caller).catch(
    nothing,
  )
  await removeSecondFactor(session, { password, code: totp(secret, 1) }, caller)
}

/**
 * Runs every statement of a passkey, from its registration to its removal, with a reset
 * that removes passkeys.
 */
async function usePasskey(userId: string): Promise<void> {
  const [password, nothing, origin] = [
    'lantern meadow otter',
    () => {},
    process.env.PUBLIC_URL!,
  ]
  const { sessionId, refreshToken } = await signInWithPassword(email, password, caller)
  const session = { sessionId, userId, email, endsAt: new Date() }
  await requireFreshSession(new Headers({ cookie: `refresh=${refreshToken}` }))
  const { options } = await startRegistration(session)
  const passkey = newPasskey(userId)
  const credential = register(passkey, options.challenge, origin)
  const { passkey: added } = await addPasskey(session, credential, caller)
  const passkeyId = added.id
  await addPasskey(session, credential, caller) // is repeated
  await listPasskeys(userId)
  await findSignals(userId)
  await renamePasskey(session, { passkeyId, name: 'Key' })

  const { challenge } = (await makeSignInOptions()).options
  const assertion = assert(passkey, challenge, origin)
  await signInWithPasskey(assertion, browser)
  await signInWithPasskey(assertion, browser) // is repeated
  await signInWithPasskey(assertion, caller).catch(nothing)

  const token = (await issueResetToken(userId)).secret
  await findResetLink(hashSecret(token))
  const asked = { removePasskeys: true }
  await resetPassword(token, password, withKey, asked)
  await resetPassword(token, password, withKey, asked) // is repeated
  await removePasskey(session, { passkeyId }, caller)
}

/**
 * Runs every statement of a required second factor and of the limit of inactivity: the
 * set-up of an app and of a passkey, and the changes that a passkey proves.
 */
async function useSetUp(userId: string): Promise<void> {
  Object.assign(env(), { SECOND_FACTOR: 'required', SESSION_IDLE_MINUTES: 60 })
  const begin = async () =>
    requireSetUp(makeChallenge((await findFactor(userId))!).challenge)

  const app = await begin()
  const { secret, enrolment } = await startAppSetUp(app)
  const given = { enrolment, code: totp(secret) }
  const { signedIn } = await confirmAppSetUp(app, given, browser)
  await confirmAppSetUp({ ...app, isDone: true }, given, browser) // is repeated
  const { sessionId } = signedIn
  const session = { sessionId, userId, email, endsAt: new Date() }
  await listSessions(session)
  const { refreshToken } = await refreshSession(signedIn.refreshToken)
  await databasePool().query(`UPDATE sessions SET method = 'passkey' WHERE id = $1`, [
    sessionId,
  ])
  await requirePasskeySession(new Headers({ cookie: `refresh=${refreshToken}` }))
  await replaceRecoveryCodes(session, {}, caller)
  await removeSecondFactor(session, {}, caller)

  const user = await begin()
  const { options } = startPasskeySetUp(user)
  const passkey = newPasskey(userId)
  const credential = register(passkey, options.challenge, process.env.PUBLIC_URL!)
  const added = await addPasskeySetUp(user, credential, browser)
  await addPasskeySetUp({ ...user, isDone: true }, credential, browser) // is repeated
  const own = { ...session, sessionId: added.signedIn.sessionId }
  await removePasskey(own, { passkeyId: added.passkey.id }, caller)
  await addFirstPasskey(own)
  await refreshSession(refreshToken).catch(() => {}) // looks up the reason

  Object.assign(env(), { SECOND_FACTOR: true, SESSION_IDLE_MINUTES: undefined })
}

/** Adds the first passkey in a session, and gets the first codes with it. */
async function addFirstPasskey(session: LiveSession): Promise<void> {
  const { userId, sessionId } = session
  const { options } = await startRegistration(session)
  const passkey = newPasskey(userId)
  const credential = register(passkey, options.challenge, process.env.PUBLIC_URL!)
  const { passkey: added } = await addPasskey(session, credential, caller)

  const pool = databasePool()
  await pool.query('UPDATE users SET second_factor_at = NULL WHERE id = $1', [userId])
  await pool.query(`UPDATE sessions SET method = 'passkey' WHERE id = $1`, [sessionId])
  await replaceRecoveryCodes(session, {}, caller)
  await removePasskey(session, { passkeyId: added.id }, caller)
}

/**
 * Signs users in through a connection: one who gets linked, a new one, and one who is
 * already linked.
 */
async function signIn(): Promise<void> {
  await databasePool().query(`
    WITH added AS (
      INSERT INTO connections (slug, name, kind, settings, provision)
      VALUES ('acme', 'Acme', 'oidc', '{"issuer":"https://idp.example.com","clientId":"x"}', true) RETURNING id
    )
    INSERT INTO connection_domains SELECT 'example.com', id, now() FROM added`)
  await listSignInChoices()
  await findConnectionByEmail(email)
  const connection = (await findConnection('acme'))!
  const { state } = await startAttempt(connection, 'browser', null)
  const overSaml = await startAttempt(connection, 'browser', null)
  await rejectLoop(connection.id, 'browser')
  for (const _ of ['claimed', 'used'])
    await claimAttempt({
      ...overSaml,
      connectionId: connection.id,
      browser: null,
      mayLackCookies: true,
    }).catch(() => {})
  await claimAttempt({ state, connectionId: connection.id, browser: 'browser' })
  await claimAttempt({ state, connectionId: connection.id, browser: 'browser' }).catch(
    () => {},
  ) // the attempt was already used
  for (const address of [email, 'grace@example.com', email])
    await findOrLinkUser(
      connection,
      { issuer: connection.settings.issuer, subject: address },
      async () => ({
        email: address,
        isVerified: true,
      }),
    )
  await useTests(connection)
}

/** Runs every statement of a test sign-in, and of a rejected one. */
async function useTests(connection: Connection): Promise<void> {
  const { issuer } = connection.settings
  const provider = {
    response: 'query',
    authorize: async () => '',
    authenticate: async () => ({
      identity: { issuer, subject: email },
      contact: async () => ({ email, isVerified: true }),
    }),
  } as const
  const attempt = { connectionId: connection.id, browser: null, testBrowser: 'test' }
  for (const onlyTests of [false, true]) {
    const { state } = await startAttempt(connection, 'test', null, true)
    const claimed = await claimAttempt({ ...attempt, state, onlyTests })
    await testSignIn(connection, provider, new URLSearchParams(), claimed)
  }

  const rejection = new SignInRejected('identity_not_provisioned', 'no_access')
  rejection.identity = { issuer, subject: 'rejected' }
  for (const _ of ['stored', 'counted']) await recordRejected(connection.id, rejection)
}

/** Runs every statement of the directory of the connection of `signIn`. */
async function useDirectory(): Promise<void> {
  const connection = (await findConnection('acme'))!
  const { id } = connection
  await findDirectory('any token')
  await rejectToken('any token')

  const person = { userName: 'ada', emails: [{ value: 'bob@example.com' }] }
  const { user } = await addUser(id, readUser({ ...person, active: false }))
  const name = { op: 'add', path: 'displayName', value: 'x' }
  const value = [{ value: 'robert@example.com' }]
  const operations = [name, { op: 'replace', path: 'emails', value }]
  const enabled = { op: 'replace', path: 'active', value: true }
  await patchUser(id, user.userId, readPatch({ Operations: [...operations, enabled] }))
  const filters = ['userName', 'externalId', 'id', 'emails.value']
  for (const filter of [
    '',
    ...filters.map((each) => `filter=${each} eq "${user.userId}"`),
  ])
    await listUsers(id, new URLSearchParams(filter))
  await removeUser(id, user.userId)

  const { issuer } = connection.settings
  const logout = { issuer, subject: email, providerSession: 'x', issuedAt: 0 }
  await endProviderSessions(connection, logout)
}

/** Runs every statement of a setup link: from a draft to a connection that is applied. */
async function useSetupLink(): Promise<void> {
  const [id, slug, secret] = [randomUUID(), 'drafted', newSecret()]
  const { kind, settings, encryptedSecrets } = await createDraftColumns(id, slug)
  await databasePool().query(
    `INSERT INTO connections (id, slug, name, kind, settings, sealed_secrets, disabled_at)
     VALUES ($1, $2, $2, $3, $4, $5, now())`,
    [id, slug, kind, settings, encryptedSecrets],
  )
  await databasePool().query(
    `INSERT INTO connection_domains VALUES ('drafted.example', $1, NULL)`,
    [id],
  )
  await databasePool().query(
    `INSERT INTO setup_links (connection_id, secret_hash, may_activate, expires_at)
     VALUES ($1, $2, true, now() + interval '1 day')`,
    [id, hashSecret(secret)],
  )

  const link = (await findLinkBySecret(secret))!
  await recordOpened(link)
  await findUnfinishedSettings(slug)
  const metadata = Buffer.from(providerMetadata(settings.certificate))
  for (const _ of ['the draft', 'corrected'])
    await saveValues((await findTarget(link.id))!, { protocol: 'saml', metadata })

  const target = (await findTarget(link.id))!
  await recordLinkTest(link.id, target.connection!, email)
  await isUser(email)
  await foreseeApply(target.connection!)
  await applyConnection(target)
}

run().then(
  () => process.exit(0),
  (error: Error) => {
    console.error(error.message)
    process.exit(1)
  },
)
