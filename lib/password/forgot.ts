import { setTimeout as sleep } from 'node:timers/promises'
import { describeCause, log } from '../log'
import { type MailRequest, queueResetMail } from '../mail/outbox'
import { sendAfterRequest } from '../mail/sender'

// The user has been told to expect a mail, so a database that is briefly unavailable must not lose it.
const retryAfterMs = [1_000, 5_000, 10_000]
const retriedPerBlock = 100 // in a quarter of an hour; each keeps 30 KB meanwhile

const windowMs = 15 * 60_000
const maxBlocks = 10_000
let requestsByBlock = new Map<string, number>()
let windowEndsAt = 0

let unfinished = 0
process.once('exit', () => {
  if (unfinished > 0) log.error({ count: unfinished }, 'the process ended before these reset mails were queued')
})

/** Mails a reset link, if there is such a user. For `after()`: its time must not show in the response. Never throws. */
export async function mailResetLink(emails: string[], request: MailRequest, clientKey: string): Promise<void> {
  unfinished++
  const priority = countRequest(clientKey)
  for (const ms of [...retryAfterMs, null]) {
    try {
      await queueResetMail(emails, request, priority)
      break
    } catch (error) {
      if (ms === null || priority >= retriedPerBlock) {
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
 * Returns how many requests the client's address block (an IPv4 /24, an IPv6 /48) has sent before in this window: its
 * mails must not delay those of others. Counts requests, because the order of mails could tell which users there are.
 */
function countRequest(clientKey: string): number {
  if (performance.now() > windowEndsAt || requestsByBlock.size >= maxBlocks) {
    requestsByBlock = new Map()
    windowEndsAt = performance.now() + windowMs
  }
  const addressBlock = clientKey.match(/^\d+\.\d+\.\d+(?=\.)/)?.[0] ?? clientKey.split(':', 3).join(':')
  const before = requestsByBlock.get(addressBlock) ?? 0
  requestsByBlock.set(addressBlock, before + 1)
  return before
}
