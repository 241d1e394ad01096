import { setTimeout as sleep } from 'node:timers/promises'
import { describeCause, log } from '../log'
import { type MailRequest, queueResetMail } from '../mail/outbox'
import { sendAfterRequest } from '../mail/sender'
import { InTurn } from '../queue/in-turn'

// The user has been told to expect a mail, so a database that is briefly unavailable must not lose it.
const retryAfterMs = [1_000, 5_000, 10_000]

// One at a time, so that a flood of requests leaves the other database connections to sign-ins.
const requests = new InTurn()

/**
 * Queues and sends the mail with a reset link, if there is such a user. For `after()`: the response
 * must not wait for it, because its time could tell whether there is one. Never throws.
 */
export async function mailResetLink(emails: string[], request: MailRequest): Promise<void> {
  for (const ms of [...retryAfterMs, null]) {
    try {
      await requests.add(() => queueResetMail(emails, request))
      break
    } catch (error) {
      // Whatever the outcome was, the caps make a second mail impossible.
      if (ms === null) log.error({ cause: describeCause(error) }, 'a reset mail could not be queued')
      else await sleep(ms)
    }
  }
  await sendAfterRequest()
}
