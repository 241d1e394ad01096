import { after } from 'next/server'
import type { z } from 'zod'
import type { Caller } from '@/lib/contract/caller'
import type { Operation } from '@/lib/contract/operations'
import { route } from '@/lib/http/route'
import { sendAfterRequest } from '@/lib/mail/sender'
import { type LiveSession, requireSession } from '@/lib/session/find'
import { sendsMail } from '@/lib/settings/env'
import { noticeClientsLater } from './notice-clients'

/**
 * The result of a handler: the fields of the response except `ok`. It is `void` if `ok` is
 * the only field.
 */
type HandlerResult<Result> = keyof Omit<Result, 'ok'> extends never
  ? Promise<void>
  : Promise<Omit<Result, 'ok'>>

/**
 * Returns the handlers by which users change their password, second factor or passkeys.
 * The handlers send the queued notices. `listCookies` returns the `Set-Cookie` values of a
 * success. `findUser` returns the session of a request, by default that of its JWT.
 */
export function userRoute<Body extends object, Result extends object>(
  operation: Operation & { request: z.ZodType<Body>; response: z.ZodType<Result> },
  act: (session: LiveSession, body: Body, caller: Caller) => HandlerResult<Result>,
  listCookies: (response: Result) => string[] = () => [],
  findUser: (headers: Headers) => Promise<LiveSession> = requireSession,
) {
  return route(operation, async (call) => {
    const { request, caller, body, respond, setCookies, addToLog } = call
    if (operation.tag === 'Passkeys') addToLog({ factor: 'passkey' })
    const session = await findUser(request.headers)
    addToLog({ userId: session.userId, sessionId: session.sessionId })
    if ('code' in body || 'recoveryCode' in body)
      addToLog({ factor: 'code' in body ? 'totp' : 'recovery-code' })

    // after a wrong code too, because many of them cause a notice
    if (sendsMail()) after(sendAfterRequest)

    const response = { ok: true, ...(await act(session, body, caller)) } as Result
    noticeClientsLater()
    setCookies(listCookies(response))

    return respond(response)
  })
}
