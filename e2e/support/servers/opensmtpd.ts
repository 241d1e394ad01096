import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { connect } from 'node:net'
import PostalMime, { type Email } from 'postal-mime'
import { keepSecret } from '../secrets'
import { startProgram, temporaryFolder } from './program'
import { freePort } from './server'

export type OpenSmtpd = {
  /** The settings for a server of the app that sends email through OpenSMTPD. */
  settings: { SMTP_URL: string; MAIL_FROM: string }
  /** The emails in the maildir of an address, the oldest first. */
  mailsTo: (email: string) => Promise<Email[]>
  output: () => string
  stop: () => Promise<void>
}

const nobody = 65534

/**
 * Starts OpenSMTPD, which delivers every email for a domain to a maildir. Needs root.
 * Only one can run at a time.
 */
export async function startOpenSmtpd(domain: string): Promise<OpenSmtpd> {
  if (process.getuid?.() !== 0)
    throw new Error('OpenSMTPD starts only as root. Run: sudo npm run test:providers')
  const folder = temporaryFolder('opensmtpd')
  chmodSync(folder.path, 0o755) // because another user delivers the emails
  const mailboxes = `${folder.path}/mailboxes`
  mkdirSync(mailboxes)
  chownSync(mailboxes, nobody, nobody)
  const port = await freePort()
  const file = `${folder.path}/smtpd.conf`
  writeFileSync(
    file,
    `table users { "@" = nobody }
listen on 127.0.0.1 port ${port}
action deliver maildir "${mailboxes}/%{dest:lowercase}" virtual <users>
match from local for domain "${domain}" action deliver
`,
    { mode: 0o600 },
  )
  const program = await startProgram(['/usr/sbin/smtpd', '-d', '-v', '-f', file], () =>
    greets(port),
  )
  return {
    settings: { SMTP_URL: `smtp://127.0.0.1:${port}`, MAIL_FROM: 'login@example.com' },
    mailsTo: (email) => mailsIn(`${mailboxes}/${email}/new`),
    output: program.output,
    stop: async () => {
      await program.stop()
      folder.remove()
    },
  }
}

/** Reads a maildir. Records the token of each link as a secret. */
async function mailsIn(folder: string): Promise<Email[]> {
  if (!existsSync(folder)) return []
  const files = readdirSync(folder).map((name) => `${folder}/${name}`)
  const byAge = files.toSorted((a, b) => statSync(a).mtimeMs - statSync(b).mtimeMs)
  const mails = await Promise.all(
    byAge.map((file) => PostalMime.parse(readFileSync(file))),
  )
  for (const { text } of mails) {
    const token = text?.match(/\/reset-password\?token=([\w-]{43})/)?.[1]
    if (token) keepSecret(token)
  }
  return mails
}

/** Returns whether an SMTP server greets on a port. */
function greets(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    socket.once('data', () => {
      socket.end('QUIT\r\n')
      resolve(true)
    })
    socket.once('error', () => resolve(false))
  })
}
