import { randomUUID } from 'node:crypto'
import { signJwt } from '../crypto/token'
import { prisma } from '../database/prisma'
import { describeCause, log } from '../log/log'
import { withoutRequestId } from '../log/request-context'
import { sendRequest } from '../outgoing'
import { env } from '../settings/env'

const intervalMs = 15_000
const attemptMs = 5_000
const batchSize = 10
/** How many seconds after an attempt the next one begins. After the last, none. */
const delays = [60, 600, 3_600]
const tokenSeconds = 120

const globals = globalThis as typeof globalThis & { noticeTimer?: NodeJS.Timeout }

/** Starts a timer that sends due notices, except on Vercel. */
export function startNotices(): void {
  if (env().VERCEL || globals.noticeTimer) return
  globals.noticeTimer = setInterval(() => void sendNotices(), intervalMs).unref()
}

/**
 * Tells clients which of their sessions have ended, until no notice is due (OpenID Connect
 * Back-Channel Logout §2.5). Never throws.
 */
export async function sendNotices(withinMs = Number.POSITIVE_INFINITY): Promise<void> {
  if (!env().ID_TOKEN_SIGNING_KEYS) return

  await withoutRequestId(async () => {
    const endsAt = performance.now() + withinMs
    try {
      while (endsAt - performance.now() > attemptMs) {
        const notices = await claimNotices()
        await Promise.all(notices.map(sendNotice))
        if (notices.length < batchSize) return
      }
    } catch (error) {
      log.error(
        { cause: describeCause(error) },
        'the notices for clients could not be read: they are sent later',
      )
    }
  })
}

type Notice = {
  id: string
  sessionId: string
  attempts: number // with this one
  now: number // in seconds since 1970
  client: string | null // the slug, unless the client was removed
  uri: string | null
}

/** Claims due notices. A notice that is not deleted is due again after a delay. */
function claimNotices(): Promise<Notice[]> {
  return prisma().$queryRaw<Notice[]>`
    WITH due AS MATERIALIZED (
      SELECT id FROM logout_notices WHERE due_at <= now()
      ORDER BY due_at LIMIT ${batchSize} FOR UPDATE SKIP LOCKED
    )
    UPDATE logout_notices SET attempts = attempts + 1,
      due_at = now() + make_interval(secs => coalesce((${delays}::int[])[attempts + 1], 3600))
    WHERE id = ANY (ARRAY(SELECT id FROM due))
    RETURNING id, session_id AS "sessionId", attempts, floor(extract(epoch FROM now()))::int AS now,
      (SELECT slug FROM clients WHERE clients.id = client_id AND disabled_at IS NULL) AS client,
      (SELECT backchannel_logout_uri FROM clients WHERE clients.id = client_id) AS uri`
}

async function sendNotice(notice: Notice): Promise<void> {
  const { id, client, uri, attempts: attempt } = notice
  if (client === null || uri === null) return deleteNotice(id)

  const failure = await post(uri, signLogoutToken(notice, client)).catch(describeCause)
  if (failure === null) {
    log.info({ client, attempt }, 'a client was told that a session has ended')
    return deleteNotice(id)
  }

  if (attempt <= delays.length)
    return log.warn(
      { client, attempt, cause: failure },
      'a client could not be told that a session has ended: it is tried again later',
    )

  log.error(
    { client, attempt, cause: failure },
    'a client was not told that a session has ended',
  )
  await deleteNotice(id)
}

/** Signs a logout token (§2.4), without `sub`: it would end all sessions of the user. */
function signLogoutToken({ sessionId, now }: Notice, client: string): string {
  const claims = {
    iss: env().PUBLIC_URL,
    aud: client,
    iat: now,
    exp: now + tokenSeconds,
    jti: randomUUID(),
    sid: sessionId,
    events: { 'http://schemas.openid.net/event/backchannel-logout': {} },
  }

  return signJwt('logout+jwt', claims, env().ID_TOKEN_SIGNING_KEYS!)
}

/** Returns null if the client accepts the token, otherwise why not. */
async function post(uri: string, token: string): Promise<object | null> {
  const { statusCode, body } = await sendRequest(uri, {
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams({ logout_token: token }),
    signal: AbortSignal.timeout(attemptMs),
  })
  await body.dump()

  return statusCode === 200 || statusCode === 204 ? null : { status: statusCode }
}

async function deleteNotice(id: string): Promise<void> {
  await prisma().logoutNotice.deleteMany({ where: { id } })
}
