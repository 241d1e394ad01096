import { Readable } from 'node:stream'
import type { SendMailOptions, SMTPTransportOptions } from 'nodemailer'
import { env } from '../settings/env'
import { isLoopback } from '../settings/loopback'

const connectMs = 5_000
// some servers delay the greeting by six seconds or more, against spam
const greetingMs = 15_000
const idleMs = 30_000 // a filter of the server may take long to check the content
const maxAttemptMs = 60_000 // shorter than a claim (see outbox.ts)

/**
 * The error of an email that was not sent. Log only the codes of its cause, because the
 * message quotes the address.
 */
export class MailError extends Error {
  override readonly name = 'MailError'
  /**
   * `rejected`: no retry will help. `ours`: our settings or our mail server failed.
   * `temporary`: a retry may help. `busy`: the mail server accepts no email now, such as
   * above its limit of connections. It has not seen this email.
   */
  readonly verdict: 'rejected' | 'ours' | 'temporary' | 'busy'

  constructor(
    override readonly cause: Error & {
      code?: string
      command?: string
      responseCode?: number
    },
  ) {
    super('The email was not sent.')
    const { code = '', command = '', responseCode = 0 } = cause
    const isAboutThisMail =
      ['EENVELOPE', 'EMESSAGE'].includes(code) && ['RCPT TO', 'DATA'].includes(command)
    const isTransient = responseCode >= 400 && responseCode < 500 // RFC 5321 §4.2.1

    if (isAboutThisMail && isTransient) this.verdict = 'temporary'
    else if (isAboutThisMail && responseCode >= 500) this.verdict = 'rejected'
    else this.verdict = isTransient ? 'busy' : 'ours'
  }
}

/** Thrown by `compose` to send nothing. */
export class Withdrawn extends Error {}

/**
 * Loads nodemailer (80 ms). Call it at start, because a response that waits for it would
 * reveal a user.
 */
export async function loadMailer() {
  const [{ createTransport }, { default: MailComposer }] = await Promise.all([
    import('nodemailer'),
    import('nodemailer/lib/mail-composer'),
  ])
  return { createTransport, MailComposer }
}

/**
 * Sends an email to one address, within `withinMs` but at most a minute. Throws a
 * MailError, or the error of `compose`. Calls `compose` only when the server waits for
 * the content, because a new token invalidates the previous token.
 */
export async function sendMail(
  address: string,
  compose: () => Promise<SendMailOptions>,
  withinMs = Number.POSITIVE_INFINITY,
): Promise<void> {
  const { createTransport, MailComposer } = await loadMailer()
  const to = { name: '', address } // nodemailer would split a string at commas

  async function* content() {
    const message = {
      ...(await compose()),
      to,
      disableFileAccess: true,
      disableUrlAccess: true,
    }
    yield await new MailComposer(message).compile().build()
  }

  const transport = createTransport(smtpOptions())

  // nodemailer reads a message before it sends the recipient, but calls a `processFunc`
  // only after DATA.
  transport.use('stream', ({ message }, done) => {
    message.processFunc(() => Readable.from(content()))
    done()
  })

  const signal = AbortSignal.timeout(
    Math.max(0, Math.floor(Math.min(withinMs, maxAttemptMs))),
  )

  try {
    await transport.sendMail({ from: env().MAIL_FROM, to, signal })
  } catch (error) {
    throw (error as MailError['cause']).code === 'ESTREAM'
      ? error
      : new MailError(error as Error) // ESTREAM: from `compose`
  }
}

function smtpOptions(): SMTPTransportOptions {
  const { protocol, hostname, port, username, password } = new URL(env().SMTP_URL!)
  const [user, pass] = [username, password].map(decodeURIComponent)
  const secure = protocol === 'smtps:'
  const isLocal = !secure && isLoopback(hostname)

  return {
    host: hostname.replace(/^\[|\]$/g, ''),
    port: Number(port) || (secure ? 465 : 587),
    secure,
    requireTLS: !secure && !isLocal,
    ignoreTLS: isLocal, // a mailbox or relay on this host has no valid certificate
    ...(user && { auth: { user, pass: pass! }, forceAuth: true }),
    name: new URL(env().PUBLIC_URL).hostname,
    connectionTimeout: connectMs + greetingMs, // includes the greeting and STARTTLS
    dnsTimeout: connectMs,
    greetingTimeout: greetingMs,
    socketTimeout: idleMs,
  }
}
