// The mailbox of `npm run dev`: an SMTP server, and a page that shows the received
// emails.
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { buffer } from 'node:stream/consumers'
import PostalMime, { type Email } from 'postal-mime'
import { SMTPServer } from 'smtp-server'
import { escapeHtml } from '../../lib/brand/escape-html'
import { rejectForeignHost } from './foreign-host'
import { listChoices, localPage } from './page'
import { firstFreePort } from './ports'

const keptMails = 50

type Mail = Email & { number: number; recipients: string; at: string }

/**
 * Starts a mailbox that accepts email for every address. It is reachable on this machine
 * only.
 */
export async function startMailbox() {
  const mails: Mail[] = []
  const [port, smtpPort] = [await firstFreePort(4_100), await firstFreePort(4_125)]

  const smtp = createSmtpServer(mails)
  smtp.listen(smtpPort, '127.0.0.1')
  const web = createServer(showMails(mails)).listen(port, '127.0.0.1')
  await Promise.all([once(smtp.server, 'listening'), once(web, 'listening')])

  const settings = {
    SMTP_URL: `smtp://127.0.0.1:${smtpPort}`,
    MAIL_FROM: 'login@example.com',
  }

  return { settings, url: `http://127.0.0.1:${port}` }
}

/** Returns a server that adds the emails it receives to the beginning of `mails`. */
function createSmtpServer(mails: Mail[]): SMTPServer {
  let count = 0

  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['AUTH', 'STARTTLS'],
    disableReverseLookup: true,
    async onData(stream, { envelope }, done) {
      let content: Buffer
      try {
        content = await buffer(stream)
      } catch {
        return // the sender aborted the email
      }

      const recipients = envelope.rcptTo.map(({ address }) => address).join()
      const at = new Date().toLocaleString() // the browser has the same time zone
      const parsed = await PostalMime.parse(content)

      mails.unshift({ ...parsed, number: ++count, recipients, at })
      mails.length = Math.min(mails.length, keptMails)
      done()
    },
  })

  server.on('error', () => {}) // ignores clients that disconnect

  return server
}

/** Returns a function that responds with the email in the path, or with the list. */
function showMails(mails: Mail[]) {
  return (request: IncomingMessage, response: ServerResponse): void => {
    if (rejectForeignHost(request, response)) return

    const mail = mails.find(({ number }) => request.url === `/${number}`)

    // An email is shown in its own document without scripts, as in a mail client.
    const policy = `default-src 'none'; style-src 'unsafe-inline'; img-src * data:`
    const headers = {
      'Content-Type': 'text/html; charset=utf-8',
      'Content-Security-Policy': policy,
    }

    response.writeHead(200, mail ? headers : { ...headers, Refresh: '5' })
    response.end(mail ? mail.html : renderList(mails))
  }
}

function renderList(mails: Mail[]): string {
  const choices = mails.map(({ number, recipients, subject = '', text = '', at }) => {
    const linked = escapeHtml(text).replace(/https?:\/\/\S+/g, '<a href="$&">$&</a>')
    return [
      `/${number}`,
      escapeHtml(subject),
      `${escapeHtml(recipients)}, ${at}`,
      `<pre>${linked}</pre>`,
    ]
  })

  const note = '<p>Each email, with its text. A click shows its HTML.</p>'
  return localPage('Mailbox', `Emails: ${mails.length}`, note + listChoices(choices))
}
