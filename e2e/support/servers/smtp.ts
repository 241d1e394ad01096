import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import PostalMime, { type Email } from 'postal-mime'
import { SMTPServer } from 'smtp-server'
import { newKeyPair } from '../../../lib/sso/saml/key-pair'
import { keepSecret } from '../secrets'

/** An email that the server accepted. `token` is the token in its link. */
export type ReceivedMail = {
  from: string
  to: string[]
  token: string | undefined
  raw: string
} & Pick<Email, 'subject' | 'text' | 'html' | 'headers' | 'messageId'>

type Status = number | undefined
type Decide = (stage: 'RCPT' | 'DATA', recipient: string) => Status | Promise<Status>

export type Smtp = {
  /** The settings for a server of the app that sends email through this SMTP server. */
  settings: { SMTP_URL: string; MAIL_FROM: string }
  /** The accepted emails, the newest last. */
  mails: ReceivedMail[]
  mailsTo: (email: string) => ReceivedMail[]
  /** All recipients that clients named, including rejected ones. */
  recipients: string[]
  /**
   * Sets a function that returns a status such as 451 to reject a recipient or message,
   * or undefined to accept it.
   */
  respondWith: (decide: Decide) => void
  /** Sets a function that is called before a message is accepted. */
  beforeAccepting: (act: (mail: ReceivedMail) => Promise<unknown>) => void
  /** Greets with 421 above this number of connections. */
  limitConnections: (most: number) => void
  stop: () => Promise<void>
}

/**
 * Starts an SMTP server in this process that greets after `greetingMs`. With `tls`, its
 * certificate is not trusted. Without `utf8`, it does not offer SMTPUTF8.
 */
export async function startSmtp({
  tls = false,
  greetingMs = 0,
  listenOn = 0,
  utf8 = true,
} = {}): Promise<Smtp> {
  let decide: Decide = () => undefined
  let act: Parameters<Smtp['beforeAccepting']>[0] = async () => {}
  const mails: ReceivedMail[] = []
  const recipients: string[] = []
  // the error contains the address, as with most mail servers
  const rejection = (status: Status, recipient: string) =>
    status
      ? Object.assign(new Error(`<${recipient}> is rejected by the test.`), {
          responseCode: status,
        })
      : null
  const keyPair = tls ? await newKeyPair('127.0.0.1') : null
  const server = new SMTPServer({
    ...(keyPair && { secure: true, key: keyPair.privateKey, cert: keyPair.certificate }),
    authOptional: true,
    hideSMTPUTF8: !utf8,
    maxClients: 1_000,
    disabledCommands: ['AUTH', 'STARTTLS'],
    disableReverseLookup: true,
    onConnect: (_session, done) => void setTimeout(done, greetingMs),
    async onRcptTo({ address }, _session, done) {
      recipients.push(address)
      done(rejection(await decide('RCPT', address), address))
    },
    async onData(stream, { envelope }, done) {
      const raw = await textOf(stream)
      // the client closed the connection, so there is no response to send
      if (raw === null) return
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
  server.on('error', () => {}) // errors of connections to killed clients
  server.listen(listenOn, '127.0.0.1')
  await once(server.server, 'listening')
  const { port } = server.server.address() as AddressInfo
  return {
    settings: {
      SMTP_URL: `${tls ? 'smtps' : 'smtp'}://127.0.0.1:${port}`,
      MAIL_FROM: 'login@example.com',
    },
    mails,
    mailsTo: (email) => mails.filter(({ to }) => to.includes(email)),
    recipients,
    respondWith: (next) => {
      decide = next
    },
    beforeAccepting: (next) => {
      act = next
    },
    limitConnections: (most) => {
      server.options.maxClients = most
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
