import { AsyncResource } from 'node:async_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { RateLimiterMemory } from 'rate-limiter-flexible'
import type { Caller } from '../contract/caller'
import { describeCause, log } from '../log/log'
import { queueResetMail } from '../mail/outbox'
import { sendAfterRequest } from '../mail/sender'

// The page has promised an email, so a short outage of the database must not lose it.
const retryAfterMs = [1_000, 5_000, 10_000]
// The random delay hides that the queries for a user slow down the client's next request.
const maxDelayMs = 200
const retriedPerNetwork = 100 // requests in 15 minutes. Each uses 30 KB while it waits.

const requests = new RateLimiterMemory({
  points: Number.MAX_SAFE_INTEGER,
  duration: 15 * 60,
})
// AsyncResource.bind, because a new network's timer would otherwise retain the
// request's Next.js context.
const countRequest = AsyncResource.bind((network: string) => requests.consume(network))

let unfinished = 0
process.once('exit', () => {
  if (unfinished > 0)
    log.error(
      { count: unfinished },
      'the process ended before these reset emails were queued',
    )
})

/**
 * Emails a reset link if the user exists. Never throws. Call it in `after()`, because its
 * duration reveals a user.
 */
export async function mailResetLink(emails: string[], caller: Caller): Promise<void> {
  unfinished++

  // Emails for one network (an IPv4 /24, or here an IPv6 /48) must not delay others. The
  // priority depends on the number of requests, not of emails, because the order of
  // emails could otherwise reveal which users exist.
  const wideNetwork = caller.network.split(':', 3).join(':')
  const priority = (await countRequest(wideNetwork)).consumedPoints - 1
  await sleep(Math.random() * maxDelayMs)

  for (const ms of [...retryAfterMs, null]) {
    try {
      const check = await queueResetMail(emails, caller, priority)
      if (check) log.info({ check }, 'no reset email was queued')
      break
    } catch (error) {
      if (ms === null || priority >= retriedPerNetwork) {
        log.error({ cause: describeCause(error) }, 'a reset email could not be queued')
        break
      }
      // the caps in queueResetMail prevent a second email if the first one was queued
      await sleep(ms)
    }
  }

  unfinished--
  await sendAfterRequest()
}
