import MailComposer from 'nodemailer/lib/mail-composer'
import PostalMime from 'postal-mime'
import { expect, test, vi } from 'vitest'
import { env } from '../settings/env'
import { languages } from '../texts/language'
import { type MailKind, type MailKindName, mailKinds } from './kinds'
import { compose } from './messages'

const url = `https://login.organization.example/reset-password?token=${'x'.repeat(43)}`
const kinds = Object.entries(mailKinds as Record<string, MailKind>)

test.each(kinds)(
  '%s has ascending retry delays within its lifetime',
  (_, { retryAfterSeconds, lifetimeSeconds }) => {
    expect(retryAfterSeconds).toEqual(retryAfterSeconds.toSorted((a, b) => a - b))
    expect(retryAfterSeconds.at(-1)).toBeLessThan(lifetimeSeconds)
  },
)

const cases = kinds.flatMap(([kind]) =>
  languages().map(([language]) => [kind as MailKindName, language] as const),
)
test.each(cases)(
  '%s in %s contains all texts, and its link is not broken into lines',
  async (kind, language) => {
    for (const device of ['Firefox on Windows', null]) {
      const mail = new MailComposer(
        compose({ kind, language, device, requestedAt: new Date() }, url, 7),
      )
      const raw = (await mail.compile().build()).toString()
      const { subject, text, html } = await PostalMime.parse(raw)
      expect(text).toMatch(device ? /UTC.*Firefox.*Windows/ : /UTC/)
      if (kind === 'recovery-code-used') expect(text).toMatch(/: 7\./)
      expect(subject + text! + html!.replace(/<style>.*<\/style>/s, '')).not.toMatch(
        /[{}]|undefined|null/,
      )
      expect(
        [...text!.split('\n'), ...html!.split('"')].filter((part) => part === url),
      ).toHaveLength(3)
      const [, preheader] = html!.match(
        /<body[^>]*>\s*<div style="display:none;[^>]*>([^<]{60,})<\/div>/,
      )!
      expect(preheader).toContain(text!.split('\n\n')[1])
      // these encodings would break the link into lines
      expect(raw).not.toMatch(/quoted-printable|format=flowed/i)
    }
  },
)

test('an email uses the brand’s logo, both colors, corner radius and help link', () => {
  const unbranded = { ...env() }
  vi.stubEnv(
    'BRAND_FILES',
    JSON.stringify({ mailLogo: '/brand/logo.png', mailLogoDark: '/brand/logo-dark.png' }),
  )
  Object.assign(env(), {
    ACCENT_COLOR: '#ffd400',
    ACCENT_COLOR_DARK: '#00c2ff',
    CORNER_RADIUS: 4,
    HELP_URL: '/a&b',
  })
  const { html, text } = compose(
    { kind: 'reset', language: 'en', device: null, requestedAt: new Date() },
    url,
  )
  Object.assign(env(), { HELP_URL: undefined }, unbranded)
  vi.unstubAllEnvs()
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
