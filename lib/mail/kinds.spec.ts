import MailComposer from 'nodemailer/lib/mail-composer'
import PostalMime from 'postal-mime'
import { expect, test } from 'vitest'
import { languages } from '../page/language'
import { type MailKind, type MailKindName, mailKinds } from './kinds'
import { compose } from './messages'

const url = `https://login.organization.example/reset-password?token=${'x'.repeat(43)}`
const kinds = Object.entries(mailKinds as Record<string, MailKind>)

test.each(kinds)('%s has ascending delays within its lifetime', (_, { retryAfterSeconds, lifetimeSeconds }) => {
  expect(retryAfterSeconds).toEqual(retryAfterSeconds.toSorted((a, b) => a - b))
  expect(retryAfterSeconds.at(-1)).toBeLessThan(lifetimeSeconds)
})

const cases = kinds.flatMap(([kind]) => languages().map(([language]) => [kind as MailKindName, language] as const))
test.each(cases)('%s in %s has all texts, and its link in one piece', async (kind, language) => {
  for (const device of ['Firefox on Windows', null]) {
    const mail = new MailComposer(compose({ kind, language, device, requestedAt: new Date() }, url, 7))
    const raw = (await mail.compile().build()).toString()
    const { subject, text, html } = await PostalMime.parse(raw)
    expect(text).toMatch(device ? /UTC.*Firefox.*Windows/ : /UTC/)
    if (kind === 'recovery-code-used') expect(text).toMatch(/: 7\./)
    expect(subject + text! + html!.replace(/<style>.*<\/style>/s, '')).not.toMatch(/[{}]|undefined|null/)
    expect([...text!.split('\n'), ...html!.split('"')].filter((part) => part === url)).toHaveLength(3)
    expect(raw).not.toMatch(/quoted-printable|format=flowed/i) // which would break it in the source
  }
})
