import { setTimeout as sleep } from 'node:timers/promises'
import { parseEmailAddress } from '../contract/email-address'
import { describeCause, log } from '../log/log'
import { withoutRequestId } from '../log/request-context'
import { env } from '../settings/env'
import { type MailKind, mailKinds } from './kinds'
import { type ClaimedMail, claimMail, finish, postpone, retryLater } from './outbox'
import { loadMailer, MailError, sendMail, Withdrawn } from './transport'

const intervalMs = 15_000
// a Vercel function may run for 30 s, and part of that has passed
const functionMs = 20_000
const leastAttemptMs = 5_000 // no attempt starts with less time left
const storeMs = 1_000 // the time to store the outcome of an attempt

// On globalThis, because instrumentation.ts and the routes are bundled separately.
const globals = globalThis as typeof globalThis & {
  mailWorkers?: number
  mailTimer?: NodeJS.Timeout
}

/**
 * Prepares a server for sending emails. Outside Vercel, starts a timer that sends due
 * emails.
 */
export async function startSending(): Promise<void> {
  await loadMailer()
  if (env().VERCEL || globals.mailTimer) return
  globals.mailTimer = setInterval(() => void sendDueMails(), intervalMs).unref()
}

/**
 * For `after()`: sends queued emails after a random delay. Otherwise, a slow next request
 * would reveal a user.
 */
export async function sendAfterRequest(): Promise<void> {
  await sleep(500 + Math.random() * 1_000)
  await sendDueMails(env().VERCEL ? functionMs : undefined)
}

/**
 * Sends emails until none is due or the mail server is busy, up to SMTP_MAX_CONNECTIONS
 * at a time. Never throws. Returns how many emails it tried to send.
 */
export function sendDueMails(withinMs = Number.POSITIVE_INFINITY): Promise<number> {
  // Most of the emails are not those of the request in which this runs.
  return withoutRequestId(() => work(withinMs))
}

async function work(withinMs: number): Promise<number> {
  const endsAt = performance.now() + withinMs

  // the other workers send all due emails
  if ((globals.mailWorkers ?? 0) >= env().SMTP_MAX_CONNECTIONS) return 0

  globals.mailWorkers = (globals.mailWorkers ?? 0) + 1
  let count = 0
  const others: Promise<number>[] = []

  try {
    while (endsAt - performance.now() > leastAttemptMs) {
      const mail = await claimMail()
      if (!mail) break
      count++

      // otherwise, the next email would wait and reveal this one
      others.push(work(endsAt - performance.now()))
      const isBusy = await sendClaimed(mail, endsAt - performance.now() - storeMs)
      if (isBusy) break
    }
  } catch (error) {
    log.error(
      { cause: describeCause(error) },
      'the outbox could not be read: its emails are sent later',
    )
  } finally {
    globals.mailWorkers--
  }

  for (const tried of await Promise.all(others)) count += tried

  return count
}

/** Tries to send a claimed email. Returns whether the mail server is busy. */
async function sendClaimed(mail: ClaimedMail, withinMs: number): Promise<boolean> {
  const { kind, attempts: attempt } = mail
  const address = parseEmailAddress(mail.email)

  if (mail.ageSeconds > mailKinds[kind].lifetimeSeconds || !address) {
    await finish(mail, 'gave_up')
    log.error(
      { mail: kind, attempt, code: address ? 'EXPIRED' : 'EADDRESS' },
      'an email was given up',
    )
    return false
  }

  try {
    const composeWithLink = async () => {
      const { link: makeLink, number }: MailKind = mailKinds[kind]
      const link = await makeLink(mail)
      if (link === null) throw new Withdrawn()
      const { compose } = await import('./messages') // has the texts of all languages
      return compose(mail, link, await number?.(mail))
    }
    await sendMail(address, composeWithLink, withinMs)
  } catch (error) {
    await handleFailure(mail, error)
    return error instanceof MailError && error.verdict === 'busy'
  }

  await finish(mail, 'sent')
  log.info({ mail: kind, attempt }, 'an email was sent')

  return false
}

async function handleFailure(mail: ClaimedMail, error: unknown): Promise<void> {
  const { kind, attempts: attempt } = mail
  if (error instanceof Withdrawn) {
    await finish(mail, 'gave_up')
    return log.info({ mail: kind, attempt }, 'an email was withdrawn')
  }

  const failure = error instanceof MailError ? error : null
  const line = {
    mail: kind,
    attempt,
    code: failure?.cause.code,
    smtpCode: failure?.cause.responseCode,
  }

  if (failure?.verdict === 'busy') {
    await postpone(mail)
    return log.warn(line, 'the mail server is busy: the email is tried again soon')
  }

  const isRejected = failure?.verdict === 'rejected'
  if (isRejected) await finish(mail, 'gave_up')
  if (isRejected || !(await retryLater(mail, mailKinds[kind])))
    return log.error(line, 'an email was given up')
  if (failure?.verdict === 'temporary')
    return log.warn(line, 'an email was not accepted: it is tried again later')

  const cause = describeCause(failure?.cause ?? error)
  log.error({ ...line, cause }, 'an email could not be sent: it is tried again later')
}
