import { AsyncResource } from 'node:async_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { RateLimiterMemory } from 'rate-limiter-flexible'
import { describeCause, log } from '../log'
import { type MailRequest, queueResetMail } from '../mail/outbox'
import { sendAfterRequest } from '../mail/sender'

// The page has announced an email to the user, so it must not be lost if the database is briefly unavailable.
const retryAfterMs = [1_000, 5_000, 10_000]
const retriedPerBlock = 100 // in 15 minutes; each uses 30 KB while it waits

const requests = new RateLimiterMemory({ points: Number.MAX_SAFE_INTEGER, duration: 15 * 60 })
// Bound, so that the timer of a new address block does not retain the Next.js context of its request.
const countRequest = AsyncResource.bind((addressBlock: string) => requests.consume(addressBlock))

let unfinished = 0
process.once('exit', () => {
  if (unfinished > 0) log.error({ count: unfinished }, 'the process ended before these reset emails were queued')
})

/** Emails a reset link, if there is such a user. For `after()`: its time must not show in the response. Never throws. */
export async function mailResetLink(emails: string[], request: MailRequest, clientKey: string): Promise<void> {
  unfinished++
  // The emails of an address block (an IPv4 /24, an IPv6 /48) must not delay those of others. Counts requests, not
  // mails: their order could otherwise reveal which users exist.
  const addressBlock = clientKey.match(/^\d+\.\d+\.\d+(?=\.)/)?.[0] ?? clientKey.split(':', 3).join(':')
  const priority = (await countRequest(addressBlock)).consumedPoints - 1
  for (const ms of [...retryAfterMs, null]) {
    try {
      await queueResetMail(emails, request, priority)
      break
    } catch (error) {
      if (ms === null || priority >= retriedPerBlock) {
        log.error({ cause: describeCause(error) }, 'a reset email could not be queued')
        break
      }
      await sleep(ms) // even if the email was queued: the caps prevent a second one
    }
  }
  unfinished--
  await sendAfterRequest()
}
