import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import PostalMime, { type Email } from 'postal-mime'
import { SMTPServer } from 'smtp-server'
import { newKeyPair } from '../../lib/sso/saml/key-pair'
import { keepSecret } from './secrets'

/** An email that the server accepted. `token` is that of the link in it. */
export type ReceivedMail = { from: string; to: string[]; token?: string; raw: string } & Pick<
  Email,
  'subject' | 'text' | 'html' | 'headers' | 'messageId'
>

type Status = number | undefined
type Decide = (stage: 'RCPT' | 'DATA', recipient: string) => Status | Promise<Status>

export type Smtp = {
  /** The settings for a server that sends through it. */
  settings: { SMTP_URL: string; MAIL_FROM: string }
  /** The accepted emails, the newest last. */
  mails: ReceivedMail[]
  mailsTo: (email: string) => ReceivedMail[]
  /** Every recipient that a client named, accepted or not. */
  recipients: string[]
  /** From now on, decides about each recipient and each message: a status such as 451, or undefined to accept. */
  respondWith: (decide: Decide) => void
  /** From now on, calls this before it accepts a message. */
  beforeAccepting: (act: (mail: ReceivedMail) => Promise<unknown>) => void
  stop: () => Promise<void>
}

/**
 * Starts an SMTP server in this process, which greets after `greetingMs`. With `tls`, its
 * certificate is one that nobody trusts.
 */
export async function startSmtp({ tls = false, greetingMs = 0 } = {}): Promise<Smtp> {
  let decide: Decide = () => undefined
  let act: Parameters<Smtp['beforeAccepting']>[0] = async () => {}
  const mails: ReceivedMail[] = []
  const recipients: string[] = []
  // quotes the address, as most servers do
  const rejection = (status: Status, recipient: string) =>
    status ? Object.assign(new Error(`<${recipient}> is rejected by the test.`), { responseCode: status }) : null
  const keyPair = tls ? await newKeyPair('127.0.0.1') : null
  const server = new SMTPServer({
    ...(keyPair && { secure: true, key: keyPair.privateKey, cert: keyPair.certificate }),
    authOptional: true,
    disabledCommands: ['AUTH', 'STARTTLS'],
    disableReverseLookup: true,
    onConnect: (_session, done) => void setTimeout(done, greetingMs),
    async onRcptTo({ address }, _session, done) {
      recipients.push(address)
      done(rejection(await decide('RCPT', address), address))
    },
    async onData(stream, { envelope }, done) {
      const raw = await textOf(stream)
      if (raw === null) return // the client closed the connection, and gets no response
      const { subject, text, html, headers, messageId } = await PostalMime.parse(raw)
      const token = text?.match(/\/reset-password\?token=([\w-]{43})/)?.[1]
      if (token) keepSecret(token)
      const to = envelope.rcptTo.map(({ address }) => address)
      const from = envelope.mailFrom ? envelope.mailFrom.address : ''
      const mail = { from, to, token, raw, subject, text, html, headers, messageId }
      const rejected = rejection(await decide('DATA', to[0]!), to[0]!)
      if (rejected) return done(rejected)
      await act(mail)
      mails.push(mail)
      done()
    },
  })
  server.on('error', () => {}) // a client that was killed
  server.listen(0, '127.0.0.1')
  await once(server.server, 'listening')
  const { port } = server.server.address() as AddressInfo
  return {
    settings: { SMTP_URL: `${tls ? 'smtps' : 'smtp'}://127.0.0.1:${port}`, MAIL_FROM: 'login@example.com' },
    mails,
    mailsTo: (email) => mails.filter(({ to }) => to.includes(email)),
    recipients,
    respondWith: (next) => {
      decide = next
    },
    beforeAccepting: (next) => {
      act = next
    },
    stop: () => new Promise((resolve) => server.close(() => resolve())),
  }
}

async function textOf(stream: AsyncIterable<Buffer>): Promise<string | null> {
  const chunks: Buffer[] = []
  try {
    for await (const chunk of stream) chunks.push(chunk)
  } catch {
    return null
  }
  return Buffer.concat(chunks).toString()
}
