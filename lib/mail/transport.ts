import { once } from 'node:events'
import { Socket } from 'node:net'
import { Readable } from 'node:stream'
import type { SendMailOptions } from 'nodemailer'
import { env, isLoopback } from '../settings/env'

const connectMs = 5_000
const greetingMs = 15_000 // servers that watch for spam greet after six seconds or more
const idleMs = 30_000 // a filter can take long before the server accepts the content
const quitMs = 10_000
const maxPlainBytes = 65_536
const maxAttemptMs = 60_000 // an attempt ends before its claim does (see outbox.ts)

/** What to do about an error: nothing will help this mail; the settings or the server are at fault; or neither. */
export type Verdict = 'rejected' | 'ours' | 'temporary'

/** A mail that was not sent, with the codes that may be logged. The message of the cause quotes the address. */
export class MailError extends Error {
  readonly verdict: Verdict
  readonly code?: string
  readonly smtpCode?: number

  constructor(cause: unknown) {
    super('The mail was not sent.', { cause })
    this.name = 'MailError'
    const { code, command, responseCode } = cause as { code?: string; command?: string; responseCode?: number }
    this.code = code
    this.smtpCode = responseCode
    const aboutThisMail =
      (code === 'EENVELOPE' || code === 'EMESSAGE') && (command === 'RCPT TO' || command === 'DATA') && responseCode
    this.verdict = aboutThisMail ? (responseCode >= 500 ? 'rejected' : 'temporary') : 'ours'
  }
}

/** Thrown while a mail is composed, to send nothing. */
export class Withdrawn extends Error {}

/**
 * Loads nodemailer, which takes 80 ms of CPU time. Loaded only when somebody’s mail is sent, it
 * would show in the next response that there is such a user: call this at start.
 */
export async function loadMailer() {
  const [{ default: SmtpConnection }, { default: MailComposer }] = await Promise.all([
    import('nodemailer/lib/smtp-connection'),
    import('nodemailer/lib/mail-composer'),
  ])
  return { SmtpConnection, MailComposer }
}

/**
 * Sends a mail to one address, within `withinMs` milliseconds and a minute at most. Calls `compose`
 * once the server has accepted the recipient and waits for the content: a token that it issues
 * invalidates the one before, so it must be issued only for a mail that is about to arrive. Throws a
 * MailError, or what `compose` throws.
 */
export async function sendMail(
  to: string,
  compose: () => Promise<SendMailOptions>,
  withinMs = Number.POSITIVE_INFINITY,
): Promise<void> {
  const { SmtpConnection, MailComposer } = await loadMailer()
  const { host, port, secure, isLocal, auth } = smtpServer()
  const connection = new SmtpConnection({
    host,
    port,
    secure,
    ...(!secure && { socket: new PlainSocket() }),
    requireTLS: !secure && !isLocal,
    ignoreTLS: isLocal, // a mailbox of development or a relay on this host has no certificate for it
    name: new URL(env().PUBLIC_URL).hostname,
    connectionTimeout: connectMs + greetingMs, // includes the greeting and STARTTLS
    dnsTimeout: connectMs,
    greetingTimeout: greetingMs,
    socketTimeout: idleMs,
  })
  let composeError: unknown
  async function* content() {
    try {
      const message = { ...(await compose()), to: { name: '', address: to } }
      yield await new MailComposer({ ...message, disableFileAccess: true, disableUrlAccess: true }).compile().build()
    } catch (error) {
      composeError = error
      throw error
    }
  }
  const message = Readable.from(content()) // read, and so composed, only after DATA
  const failed = once(connection, 'error').then(([error]) => Promise.reject(error))
  const ended = once(connection, 'end').then(() => Promise.reject(new Error('The connection was closed.')))
  const { promise: timedOut, cancel } = rejectAfter(Math.min(withinMs, maxAttemptMs))
  failed.catch(() => {})
  ended.catch(() => {})
  const step = <Result>(act: (done: (error?: Error | null, result?: Result) => void) => void) =>
    Promise.race([
      failed,
      ended,
      timedOut,
      new Promise<void>((resolve, reject) => act((error) => (error ? reject(error) : resolve()))),
    ])
  try {
    await step((done) => connection.connect(done))
    if (auth) await step((done) => connection.login(auth, done))
    await step((done) => connection.send({ from: env().MAIL_FROM!, to: [to] }, message, done))
    connection.quit()
    setTimeout(() => connection.close(), quitMs).unref() // if the server goes on sending
  } catch (error) {
    connection.close() // before the final dot, the server discards what it received
    throw composeError ?? new MailError(error)
  } finally {
    cancel()
  }
}

/**
 * A socket that ends when it has received more than a mail server ever sends. Before STARTTLS,
 * anybody on the way can send more, and megabytes of empty lines take nodemailer seconds.
 */
class PlainSocket extends Socket {
  constructor() {
    super()
    let bytes = 0
    this.once('connect', () =>
      this.on('data', (chunk) => {
        bytes += chunk.length
        if (bytes > maxPlainBytes) this.destroy(new Error('The mail server sent too much.'))
      }),
    )
  }
}

function rejectAfter(ms: number): { promise: Promise<never>; cancel: () => void } {
  let cancel = () => {}
  const promise = new Promise<never>((_, reject) => {
    const timer = setTimeout(() => reject(new Error('The attempt took too long.')), ms)
    cancel = () => clearTimeout(timer)
  })
  promise.catch(() => {})
  return { promise, cancel }
}

function smtpServer() {
  const { protocol, hostname, port, username, password } = new URL(env().SMTP_URL!)
  const secure = protocol === 'smtps:'
  return {
    host: hostname.replace(/^\[|\]$/g, ''),
    port: Number(port) || (secure ? 465 : 587),
    secure,
    isLocal: !secure && isLoopback(hostname),
    auth: username ? { user: decodeURIComponent(username), pass: decodeURIComponent(password) } : null,
  }
}
