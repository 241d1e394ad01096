import { randomBytes } from 'node:crypto'
import * as routes from '../../../lib/contract/routes'
import { newSecret } from '../../../lib/crypto/token'
import { makeChallenge } from '../../../lib/second-factor/challenge'
import { findFactor } from '../../../lib/second-factor/find'
import { assert } from '../authenticator'
import { newCode, newUsers, type Sql, type User } from '../fixtures'
import { keepSecret } from '../secrets'
import { newPasskeyUser, newSignInChallenge } from './passkey'
import { newPasswordUser } from './password-user'
import { newFactorUser, totp } from './second-factor'

export type SignInRequest = {
  path: string
  body: object
  headers: Record<string, string>
}

type Prepared = { user: User; path: string; body: object }

export const newKey = () => keepSecret(randomBytes(16).toString('base64url'))
export const newBrowser = () => `browser=${keepSecret(newSecret())}`

async function prepareChallenge(sql: Sql, given: 'code' | 'recoveryCode') {
  const user = await newFactorUser(sql)
  const { challenge } = makeChallenge((await findFactor(user.id))!)
  const proof = given === 'code' ? totp(user.secret) : user.recoveryCodes[0]
  const body = { challenge: keepSecret(challenge), [given]: proof }
  return { user, path: routes.signInSecondFactor.path, body }
}

const preparations: Record<string, (sql: Sql) => Promise<Prepared>> = {
  'an exchange': async (sql) => {
    const [user] = await newUsers(sql, 1)
    const body = { code: await newCode(user!) }
    return { user: user!, path: routes.exchangeSsoCode.path, body }
  },
  'a password sign-in': async (sql) => {
    const user = await newPasswordUser(sql, { cost: 4 })
    const { email, password } = user
    return { user, path: routes.signIn.path, body: { email, password } }
  },
  'a sign-in with a passkey': async (sql) => {
    const user = await newPasskeyUser(sql)
    const challenge = await newSignInChallenge()
    const credential = assert(user.passkey, challenge, process.env.PUBLIC_URL!)
    return { user, path: routes.signInWithPasskey.path, body: { credential } }
  },
  'a sign-in with TOTP': (sql) => prepareChallenge(sql, 'code'),
  'a sign-in with a recovery code': (sql) => prepareChallenge(sql, 'recoveryCode'),
}

/** The names of the requests that start a session. */
export const signInNames = Object.keys(preparations)

/** Prepares a request that starts a session, as a page of this app sends it. */
export async function prepareSignIn(
  name: string,
  sql: Sql,
): Promise<{ user: User; request: SignInRequest }> {
  const { user, path, body } = await preparations[name]!(sql)
  const headers = { Cookie: newBrowser(), 'Idempotency-Key': newKey() }
  return { user, request: { path, body, headers } }
}
