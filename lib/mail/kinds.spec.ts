import MailComposer from 'nodemailer/lib/mail-composer'
import PostalMime from 'postal-mime'
import { expect, test, vi } from 'vitest'
import { type Env, env } from '../settings/env'
import { languages } from '../texts/language'
import { type MailKind, type MailKindName, mailKinds } from './kinds'
import { compose } from './messages'

const url = `https://login.organization.example/reset-password?token=${'x'.repeat(43)}`
const email = 'ada@example.com'
const kinds = Object.entries(mailKinds as Record<string, MailKind>)

test.each(kinds)(
  '%s has ascending retry delays within its lifetime',
  (_, { retryAfterSeconds, lifetimeSeconds }) => {
    expect(retryAfterSeconds).toEqual(retryAfterSeconds.toSorted((a, b) => a - b))
    expect(retryAfterSeconds.at(-1)).toBeLessThan(lifetimeSeconds)
  },
)

const cases = kinds.flatMap(([kind]) =>
  Object.keys(languages).map((language) => [kind as MailKindName, language] as const),
)
test.each(cases)(
  '%s in %s contains all texts, and its link is not broken into lines',
  async (kind, language) => {
    for (const device of ['Firefox on Windows', null]) {
      const mail = new MailComposer(
        compose({ kind, language, device, requestedAt: new Date(), email }, url, 7),
      )
      const raw = (await mail.compile().build()).toString()
      const { subject, text, html } = await PostalMime.parse(raw)
      expect(text).toMatch(device ? /UTC.*Firefox.*Windows/ : /UTC/)
      if (kind === 'recovery-code-used') expect(text).toMatch(/: 7\./)
      // The recipient may have several addresses. The reader of an old mailbox need not
      // know the new address.
      for (const part of [text, html])
        expect(part!.split(email), part).toHaveLength(kind === 'email-changed' ? 1 : 2)
      expect(subject + text! + html!.replace(/<style>.*<\/style>/s, '')).not.toMatch(
        /[{}]|undefined|null/,
      )
      expect(
        [...text!.split('\n'), ...html!.split('"')].filter((part) => part === url),
      ).toHaveLength(3)
      const sentences = text!.split('\n').filter((line) => /[.؟?!]$/.test(line))
      expect(sentences.length).toBeGreaterThan(1)
      for (const sentence of sentences)
        expect(html!.split(sentence), sentence).toHaveLength(2)
      // rspamd distrusts vowel marks, and text browsers show what is hidden
      expect(subject).not.toMatch(/\p{Mark}/u)
      expect(html).not.toMatch(/display:none|visibility:hidden/)
      // these encodings would break the link into lines
      expect(raw).not.toMatch(/quoted-printable|format=flowed/i)
    }
  },
)

const logos = { mailLogo: '/brand/logo.png', mailLogoDark: '/brand/logo-dark.png' }

/** Composes an email of a brand, with its files and its settings. */
function composeBranded(files: object, settings: Partial<Env>) {
  const unbranded = { ...env() }
  vi.stubEnv('BRAND_FILES', JSON.stringify(files))
  Object.assign(env(), settings)

  const { html, text } = compose(
    { kind: 'reset', language: 'en', device: null, requestedAt: new Date(), email },
    url,
  )

  Object.assign(env(), { HELP_URL: undefined }, unbranded)
  vi.unstubAllEnvs()
  return { html: String(html), text: String(text) }
}

test.each([
  [{}, {}],
  [{}, { HELP_URL: '/help' }],
  [{ mailLogo: logos.mailLogo }, {}],
  [logos, { HELP_URL: '/help' }],
])(
  'the number of URLs is even with the files %j and the settings %j',
  (files, settings) => {
    const { html, text } = composeBranded(files, settings)
    const links = html.match(/(?:href|src)="http/g)!.length + text.match(/http/g)!.length

    expect(links % 2).toBe(0)
  },
)

test('an email uses the brand’s logo, both colors, corner radius and help link', () => {
  const { html, text } = composeBranded(logos, {
    ACCENT_COLOR: '#ffd400',
    ACCENT_COLOR_DARK: '#00c2ff',
    CORNER_RADIUS: 4,
    HELP_URL: '/a&b',
  })
  expect(html).toMatch(
    /<source srcset="http:\/\/localhost:3000\/brand\/logo-dark.+<img src="http.+logo.png" alt="D/,
  )
  expect(html).toMatch(
    /prefers-color-scheme:dark.*\.button{background:#00c2ff!.*border-radius:6\.4px/s,
  )
  expect(html).toMatch(/<a [^>]*border-radius:4px;[^>]*color:#000000;background:#ffd400;/)
  expect(html).toContain(
    '<a href="http://localhost:3000/a&#38;b" class="soft" style="color:#5a5b55">Help</a>',
  )
  expect(text).toMatch(/\n-- \nDashboard\nHelp: http:\/\/localhost:3000\/a&b\n$/)
})

test('without a logo, an email has the mark of the pages, which readers skip', () => {
  const { html, text } = composeBranded(
    {},
    { ACCENT_COLOR: '#ffd400', ACCENT_COLOR_DARK: '#00c2ff', CORNER_RADIUS: 10 },
  )
  const [, attributes, letter] = html.match(/<td ([^>]*aria-hidden="true"[^>]*)>(.*?)</)!
  expect(letter).toBe('D')
  expect(attributes).toMatch(/bgcolor="#ffd400".*border-radius:8px.*color:#000000/)
  expect(attributes).toContain('class="button"') // which has the color of the dark scheme
  expect(html).toMatch(/<td class="ink"[^>]*>Dashboard<\/td>/)
  expect(text).not.toMatch(/^D$/m)
  expect(composeBranded(logos, {}).html).not.toContain('aria-hidden')
})
