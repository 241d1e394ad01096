import { setTimeout as sleep } from 'node:timers/promises'
import { ApiError } from '../contract/errors'
import { describeCause, log } from '../log'
import { type MailRequest, queueResetMail } from '../mail/outbox'
import { sendAfterRequest } from '../mail/sender'
import { siteOf } from '../queue/by-site.mjs'
import { FairQueue } from '../queue/fair-queue'

// The user has been told to expect a mail, so a database that is briefly unavailable must not lose it.
const retryAfterMs = [1_000, 5_000, 10_000]
const retriedPerSite = 100 // in a quarter of an hour; each keeps 30 KB meanwhile

// One at a time, so that a flood of requests leaves the other database connections to sign-ins. No
// more than a process that stops, which has 30 seconds, can finish.
const queue = new FairQueue(1, 1_000, 5)

const windowMs = 15 * 60_000
const maxSites = 10_000
let requestsBySite = new Map<string, number>()
let windowEndsAt = 0

let unfinished = 0
process.once('exit', () => {
  if (unfinished > 0) log.error({ count: unfinished }, 'the process ended before these reset mails were queued')
})

/**
 * Queues and sends the mail with a reset link, if there is such a user; networks take turns. For
 * `after()`: the response must not wait for it, because its time could tell whether there is one.
 * Never throws.
 */
export async function mailResetLink(emails: string[], request: MailRequest, network: string): Promise<void> {
  unfinished++
  const turn = countRequest(network)
  for (const ms of [...retryAfterMs, null]) {
    try {
      await queue.add(network, () => queueResetMail(emails, request, turn))
      break
    } catch (error) {
      if (error instanceof ApiError) {
        log.error('a reset mail could not be queued: too many requests are waiting')
        break
      }
      if (ms === null || turn >= retriedPerSite) {
        log.error({ cause: describeCause(error) }, 'a reset mail could not be queued')
        break
      }
      await sleep(ms) // whatever the outcome was, the caps make a second mail impossible
    }
  }
  unfinished--
  await sendAfterRequest()
}

/**
 * Returns how many requests the network's site has sent before in this quarter of an hour: hundreds
 * of mails of one site must not delay those of others. Does not count mails, because their order
 * could then tell which users there are.
 */
function countRequest(network: string): number {
  if (performance.now() > windowEndsAt || requestsBySite.size >= maxSites) {
    requestsBySite = new Map()
    windowEndsAt = performance.now() + windowMs
  }
  const site = siteOf(network)
  const before = requestsBySite.get(site) ?? 0
  requestsBySite.set(site, before + 1)
  return before
}
