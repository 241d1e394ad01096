import { Socket } from 'node:net'
import { Readable } from 'node:stream'
import type { SendMailOptions, SMTPTransportOptions } from 'nodemailer'
import { env, isLoopback } from '../settings/env'

const connectMs = 5_000
const greetingMs = 15_000 // servers that watch for spam greet after six seconds or more
const idleMs = 30_000 // a filter can take long before the server accepts the content
const maxPlainBytes = 65_536
const maxAttemptMs = 60_000 // an attempt ends before its claim does (see outbox.ts)

/** An email that was not sent. The codes of the cause may be logged, but its message quotes the address. */
export class MailError extends Error {
  override readonly name = 'MailError'
  /** `rejected`: no retry will help. `ours`: the settings or the server are wrong. `temporary`: neither. */
  readonly verdict: 'rejected' | 'ours' | 'temporary'

  constructor(override readonly cause: Error & { code?: string; command?: string; responseCode?: number }) {
    super('The mail was not sent.')
    const { code, command, responseCode } = cause
    const aboutThisMail =
      (code === 'EENVELOPE' || code === 'EMESSAGE') && (command === 'RCPT TO' || command === 'DATA') && responseCode
    this.verdict = aboutThisMail ? (responseCode >= 500 ? 'rejected' : 'temporary') : 'ours'
  }
}

/** Thrown while an email is composed, to send nothing. */
export class Withdrawn extends Error {}

/** Loads nodemailer (80 ms). Call it at start: the delay of a later response would reveal that there is such a user. */
export async function loadMailer() {
  const [{ createTransport }, { default: MailComposer }] = await Promise.all([
    import('nodemailer'),
    import('nodemailer/lib/mail-composer'),
  ])
  return { createTransport, MailComposer }
}

/**
 * Sends an email to one address, within `withinMs` and a minute at most. Calls `compose` when the server waits for the
 * content: a token that it issues invalidates the one before. Throws a MailError, or what `compose` throws.
 */
export async function sendMail(
  address: string,
  compose: () => Promise<SendMailOptions>,
  withinMs = Number.POSITIVE_INFINITY,
): Promise<void> {
  const { createTransport, MailComposer } = await loadMailer()
  const to = { name: '', address } // nodemailer would split a string at commas
  async function* content() {
    const message = { ...(await compose()), to, disableFileAccess: true, disableUrlAccess: true }
    yield await new MailComposer(message).compile().build()
  }
  const transport = createTransport(smtpOptions())
  // nodemailer reads a message before it names the recipient, but the result of a `processFunc` only after DATA.
  transport.use('stream', ({ message }, done) => {
    message.processFunc(() => Readable.from(content()))
    done()
  })
  const signal = AbortSignal.timeout(Math.max(0, Math.floor(Math.min(withinMs, maxAttemptMs))))
  try {
    await transport.sendMail({ from: env().MAIL_FROM, to, signal })
  } catch (error) {
    throw (error as MailError['cause']).code === 'ESTREAM' ? error : new MailError(error as Error) // ESTREAM: of `compose`
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
    ...(!secure && { socket: boundedSocket() }),
    requireTLS: !secure && !isLocal,
    ignoreTLS: isLocal, // a development mailbox or a relay on this host has no certificate for it
    ...(user && { auth: { user, pass: pass! }, forceAuth: true }),
    name: new URL(env().PUBLIC_URL).hostname,
    connectionTimeout: connectMs + greetingMs, // includes the greeting and STARTTLS
    dnsTimeout: connectMs,
    greetingTimeout: greetingMs,
    socketTimeout: idleMs,
  }
}

/** A socket that receives no more than a mail server sends before STARTTLS: empty lines block nodemailer for seconds. */
function boundedSocket(): Socket {
  const socket = new Socket()
  socket.on('data', () => {
    if (socket.bytesRead > maxPlainBytes) socket.destroy(new Error('The mail server sent too much.'))
  })
  return socket
}
