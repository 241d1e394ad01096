// The mailbox of `npm run dev`: an SMTP server, and a page that shows the mails that it received.
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import PostalMime, { type Email } from 'postal-mime'
import { SMTPServer } from 'smtp-server'
import { escapeHtml } from '../lib/page/escape-html'

const keptMails = 50

type Mail = Email & { recipients: string; receivedAt: Date }

/** Starts a mailbox that accepts mail for every address, on free ports of this machine, until this process exits. */
export async function startMailbox(): Promise<{ smtpUrl: string; url: string }> {
  const mails: Mail[] = []
  const smtp = new SMTPServer({
    authOptional: true,
    disabledCommands: ['AUTH', 'STARTTLS'],
    disableReverseLookup: true,
    async onData(stream, { envelope }, done) {
      const content = await buffer(stream).catch(() => null)
      if (!content) return // the sender aborted the mail
      const recipients = envelope.rcptTo.map(({ address }) => address).join()
      mails.unshift({ ...(await PostalMime.parse(content)), recipients, receivedAt: new Date() })
      mails.length = Math.min(mails.length, keptMails)
      done()
    },
  })
  smtp.on('error', () => {}) // a client that disconnected
  smtp.listen(0, '127.0.0.1')
  const web = createServer((request, response) => {
    const [, folder, index] = (request.url ?? '').split('/')
    const mail = folder === 'mail' ? mails[mails.length - 1 - Number(index)] : undefined
    // A mail is shown alone and without scripts, as in a mail client.
    const policy = `default-src 'none'; img-src *; style-src 'unsafe-inline'`
    response.writeHead(200, { 'Content-Type': 'text/html; charset=utf-8', 'Content-Security-Policy': policy })
    response.end(mail ? (mail.html ?? '') : list(mails))
  }).listen(0, '127.0.0.1')
  await Promise.all([once(smtp.server, 'listening'), once(web, 'listening')])
  const portOf = (server: { address: () => unknown }) => (server.address() as AddressInfo).port
  return { smtpUrl: `smtp://127.0.0.1:${portOf(smtp.server)}`, url: `http://localhost:${portOf(web)}` }
}

function list(mails: Mail[]): string {
  const items = mails.map(({ recipients, subject, text, receivedAt }, index) => {
    const urls = (text ?? '').match(/https?:\/\/\S+/g) ?? []
    const links = urls.map(escapeHtml).map((url) => `<a href="${url}">${url}</a>`)
    return `<li><h2><a href="/mail/${mails.length - 1 - index}">${escapeHtml(subject ?? '')}</a></h2>
<p>to ${escapeHtml(recipients)}, ${receivedAt.toISOString()}</p><p>${links.join('<br>')}</p></li>`
  })
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1"><meta http-equiv="refresh" content="5">
<title>Mailbox (${mails.length})</title>
<style>:root{color-scheme:light dark}body{max-width:46rem;margin:3rem auto;font:1rem/1.5 system-ui}</style>
<h1>Mailbox</h1>
${mails.length === 0 ? '<p>No mail yet. This page reloads itself.</p>' : `<ol reversed>${items.join('\n')}</ol>`}
</html>
`
}
