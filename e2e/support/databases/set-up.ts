import * as routes from '../../../lib/contract/routes'
import { newPasskey, type Passkey, register } from '../authenticator'
import { type ApiResponse, expect } from '../fixtures'
import { keepSecret } from '../secrets'
import type { PasswordUser } from './password-user'
import { totp } from './second-factor'

// The set-up of a second factor inside a sign-in, as a program sends it.

type Headers = Record<string, string>
type Post = (path: string, body: object, headers?: Headers) => Promise<ApiResponse>

/** Signs in with the password, and returns the challenge of the set-up. */
export async function beginSetUp(
  post: Post,
  { email, password }: PasswordUser,
  headers: Headers = {},
): Promise<string> {
  const { body } = await post(routes.signIn.path, { email, password }, headers)
  expect([body.code, body.methods]).toEqual(['SECOND_FACTOR_REQUIRED', []])
  return body.challenge!
}

/** Gets a secret for an authenticator app. Returns what confirms it. */
export async function prepareApp(
  post: Post,
  challenge: string,
): Promise<{ challenge: string; enrolment: string; code: string; secret: string }> {
  const { status, body } = await post(routes.startSecondFactor.path, { challenge })
  expect(status).toBe(200)
  const { enrolment, secret } = body as { enrolment: string; secret: string }

  return { challenge, enrolment, secret, code: totp(secret) }
}

/** Creates a passkey for the challenge of a set-up. Returns what adds it. */
export async function preparePasskey(
  post: Post,
  challenge: string,
  { id }: { id: string },
  passkey: Passkey = newPasskey(id),
): Promise<{ passkey: Passkey; request: { challenge: string; credential: object } }> {
  const { status, body } = await post(routes.startPasskey.path, { challenge })
  expect(status).toBe(200)
  const { options } = body as unknown as { options: { challenge: string } }
  const origin = process.env.PUBLIC_URL!
  const credential = register(passkey, keepSecret(options.challenge), origin)

  return { passkey, request: { challenge, credential } }
}

/** Returns the status and the code of an issue or error. */
export const outcomeOf = ({ status, body }: ApiResponse): string =>
  `${status} ${body.issues?.[0]?.code ?? body.code ?? 'ok'}`
