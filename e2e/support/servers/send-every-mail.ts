// Sends the test email, and every kind of email in the languages of the parameters or in
// all, to the server of SMTP_URL. Prints a name for each email as JSON. This is a separate
// process, because the tests cannot import `next/headers`.
import { createHash } from 'node:crypto'
import { type MailKindName, mailKinds } from '../../../lib/mail/kinds'
import { compose, composeTest } from '../../../lib/mail/messages'
import { sendMail } from '../../../lib/mail/transport'
import { env } from '../../../lib/settings/env'
import { languages } from '../../../lib/texts/language'

const [recipient, ...chosen] = process.argv.slice(2)
const tags = chosen.length > 0 ? chosen : Object.keys(languages)
const names: string[] = []

async function send(name: string, composed: ReturnType<typeof compose>): Promise<void> {
  await sendMail(recipient!, async () => composed)
  names.push(name)
}

function composeKind(kind: MailKindName, language: string) {
  // the same token each time, because a filter could distrust some tokens
  const token = createHash('sha256').update('mail').digest('base64url')
  const hasToken = ['reset', 'invitation'].includes(kind)
  const path = hasToken ? `/reset-password?token=${token}` : '/sign-in'
  const requestedAt = new Date()
  const device = language === 'en' ? null : 'Firefox on Windows'

  const mail = { kind, language, device, requestedAt, email: recipient! }

  return compose(mail, env().PUBLIC_URL + path, 7)
}

await send('test', composeTest())
for (const kind of Object.keys(mailKinds) as MailKindName[])
  for (const language of tags)
    await send(`${kind} ${language}`, composeKind(kind, language))

console.log(JSON.stringify(names))
