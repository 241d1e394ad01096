import { after } from 'next/server'
import type * as z from 'zod'
import type { Caller } from '@/lib/contract/caller'
import type { Operation } from '@/lib/contract/operations'
import { addToOrigin } from '@/lib/event/origin'
import { type AddToLog, route } from '@/lib/http/route'
import { sendAfterRequest } from '@/lib/mail/sender'
import { mailNewDevice } from '@/lib/password/new-device'
import type { SignIn } from '@/lib/password/sign-in'
import type { SetUp } from '@/lib/second-factor/challenge'
import { requireSetUp } from '@/lib/second-factor/set-up'
import { knownBrowserCookie, sessionCookies } from '@/lib/session/cookie'
import { type LiveSession, requireSession } from '@/lib/session/find'
import { sendsMail } from '@/lib/settings/env'
import { recordFailure } from './failed-sign-in'
import { noticeClientsLater } from './notice-clients'

/**
 * The result of a handler: the fields of the response except `ok`. It is `void` if `ok` is
 * the only field.
 */
type HandlerResult<Result> = keyof Omit<Result, 'ok'> extends never
  ? Promise<void>
  : Promise<Omit<Result, 'ok'>>

/**
 * The handler of a request with the challenge of a set-up. `signedIn`: the session that its
 * last step has started.
 */
type SetUpHandler<Body, Result> = (
  user: SetUp,
  body: Body,
  caller: Caller,
) => Promise<Omit<Result, 'ok' | 'token' | 'refreshToken'> & { signedIn?: SignIn }>

/**
 * Returns the handlers by which users change their password, second factor or passkeys.
 * The handlers send the queued notices. `listCookies` returns the `Set-Cookie` values of a
 * success. `findUser` returns the session of a request, by default that of its JWT.
 * `setUp`: handles a request that has the challenge of a sign-in instead of a session.
 */
export function userRoute<Body extends object, Result extends object>(
  operation: Operation & { request: z.ZodType<Body>; response: z.ZodType<Result> },
  act: (session: LiveSession, body: Body, caller: Caller) => HandlerResult<Result>,
  listCookies: (response: Result) => string[] = () => [],
  findUser: (headers: Headers, body: Body) => Promise<LiveSession> = requireSession,
  setUp?: SetUpHandler<Body, Result>,
) {
  return route(operation, async (call) => {
    const { request, caller, respond, setCookies, addToLog } = call
    const body = call.body as Body
    if (operation.tag === 'Passkeys') addToLog({ factor: 'passkey' })
    const noteCode = () => {
      if ('code' in body || 'recoveryCode' in body)
        addToLog({ factor: 'code' in body ? 'totp' : 'recovery-code' })
    }

    const actWithSession = async () => {
      const session = await findUser(request.headers, body)
      addToLog({ userId: session.userId, sessionId: session.sessionId })
      noteCode()

      // after a wrong code too, because many of them cause a notice
      if (sendsMail()) after(sendAfterRequest)

      return act(session, body, caller)
    }
    const actInSetUp = (user: SetUp) => {
      noteCode()
      return setUp!(user, body, caller)
    }

    const challenge = setUp && readChallenge(body)
    const result =
      challenge === undefined
        ? await actWithSession()
        : await runSetUp(challenge, actInSetUp, call)

    const response = { ok: true, ...result } as Result
    noticeClientsLater()
    setCookies(listCookies(response))

    return respond(response as never)
  })
}

function readChallenge(body: object): string | undefined {
  return 'challenge' in body ? (body.challenge as string | undefined) : undefined
}

/**
 * Runs a step of a set-up inside a sign-in. The result of the last step has the tokens of
 * the session, which are set as cookies too.
 */
async function runSetUp<Result extends { signedIn?: SignIn }>(
  challenge: string,
  act: (user: SetUp) => Promise<Result>,
  {
    caller,
    setCookies,
    addToLog,
  }: {
    caller: Caller
    setCookies: (values: string[]) => void
    addToLog: AddToLog
  },
) {
  const user = await requireSetUp(challenge)
  addToLog({ userId: user.userId })
  addToOrigin({ userId: user.userId })

  const failed = recordFailure({ method: 'password' })
  const { signedIn, ...result } = await act(user).catch(failed)
  if (!signedIn) return result

  const { userId, sessionId, isRepeated, knownBrowser, ...tokens } = signedIn
  addToLog({ sessionId })
  if (sendsMail()) after(sendAfterRequest)
  after(() => mailNewDevice({ userId, sessionId, isRepeated }, caller))
  setCookies([...sessionCookies(tokens), knownBrowserCookie(knownBrowser)])

  return { ...result, token: tokens.token, refreshToken: tokens.refreshToken }
}
