import { randomUUID } from 'node:crypto'
import type { SendMailOptions } from 'nodemailer'
import { accentPalette, grounds, type Palette } from '../brand/accent-color'
import { escapeHtml } from '../brand/escape-html'
import { brandFiles, logoHtml } from '../brand/files'
import { env } from '../settings/env'
import { deviceIn } from '../texts/device'
import type { Texts } from '../texts/en'
import { numberingSystem } from '../texts/relative-time'
import { textsIn } from '../texts/texts'
import { type MailContent, type MailKind, mailKinds } from './kinds'
import type { ClaimedMail } from './outbox'

/**
 * Composes an email of the outbox with its link and its number, in the language of the
 * request. `email`: the address of the account, because a recipient may have several.
 */
export function compose(
  {
    kind,
    language,
    device,
    requestedAt,
    email,
  }: Pick<ClaimedMail, 'kind' | 'language' | 'device' | 'requestedAt' | 'email'>,
  url: string,
  number?: number,
): SendMailOptions {
  const texts = textsIn(language)
  const format = new Intl.DateTimeFormat(language, {
    dateStyle: 'long',
    timeStyle: 'short',
    timeZone: 'UTC',
    numberingSystem,
  })

  const { texts: pickTexts, paragraphs, notes }: MailKind = mailKinds[kind]
  const content = pickTexts(texts.mail)

  const parts = {
    ...content,
    body: content.body.replace('{left}', String(number)),
    account: texts.mail.account.replace('{email}', () => email),
    requested: content.requested[device ? 'fromDevice' : 'plain']
      .replace('{when}', `${format.format(requestedAt)} UTC`)
      .replace('{device}', device ? deviceIn(texts.mail.device, device) : ''),
  }

  const present = (names: typeof notes) => names.flatMap((name) => parts[name] ?? [])

  return composeMessage(
    texts,
    { ...content, paragraphs: present(paragraphs), notes: present(notes) },
    url,
  )
}

/** Composes the email of `npm run mail -- test`. */
export function composeTest(): SendMailOptions {
  const texts = textsIn('en')
  const paragraphs = [`${texts.app} can send email with these settings.`]

  const content = {
    subject: `Test of ${texts.app}`,
    title: 'It works',
    paragraphs,
    button: 'Open',
    notes: [
      'This email was sent with the command npm run mail -- test.',
      'If it wasn’t in your inbox, look at the header Authentication-Results: SPF, DKIM and DMARC must pass. Publish the DNS records that your email provider shows.',
    ],
  }

  return composeMessage(texts, content, env().PUBLIC_URL)
}

function composeMessage(
  texts: Texts,
  content: MailContent,
  url: string,
): SendMailOptions {
  const { MAIL_FROM, PUBLIC_URL, HELP_URL } = env()
  const { title, paragraphs, button, notes } = content
  const help = HELP_URL && new URL(HELP_URL, PUBLIC_URL).href
  // The HTML has the link twice, and this text once. Spam filters distrust an odd number of
  // URLs in both parts, so without the URL of a logo, the text has that of the app.
  const signature = [
    `-- \n${texts.app}`,
    ...(brandFiles().mailLogo ? [] : [PUBLIC_URL]),
    ...(help ? [`${texts.footer.help}: ${help}`] : []),
  ].join('\n')

  return {
    from: { name: texts.app, address: MAIL_FROM! },
    subject: content.subject,
    text: `${[title, ...paragraphs, `${button}:\n${url}`, ...notes, signature].join('\n\n')}\n`,
    html: renderHtml(texts, content, escapeHtml(url), help),
    // Quoted-printable would break a link into two lines, which some mail clients do not
    // join again.
    textEncoding: 'base64',
    date: new Date(),
    // Each attempt has a new ID. With the old ID, a receiver could drop the email with
    // the valid link as a duplicate.
    messageId: `<${randomUUID()}@${new URL(PUBLIC_URL).hostname}>`,
    headers: { 'Auto-Submitted': 'auto-generated', 'X-Auto-Response-Suppress': 'All' },
  }
}

const font = `font-family:system-ui,-apple-system,'Segoe UI',Roboto,Arial,sans-serif`

/**
 * Returns HTML with tables and inline styles, because mail clients ignore most of CSS.
 * The only image is the logo.
 */
function renderHtml(
  { language, direction, app, footer, mail }: Texts,
  content: MailContent,
  url: string,
  help = '',
): string {
  const { ACCENT_COLOR, ACCENT_COLOR_DARK, CORNER_RADIUS } = env()
  const { light, dark } = accentPalette(ACCENT_COLOR, ACCENT_COLOR_DARK)

  return `<!doctype html>
<html lang="${language}" dir="${direction}">
<head>
<meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">
<meta name="color-scheme" content="light dark"><meta name="supported-color-schemes" content="light dark">
<title>${escapeHtml(content.subject)}</title>
${renderStyles(dark)}
</head>
<body class="ground" style="margin:0;padding:0;background:${grounds.light}">
<table role="presentation" class="ground" width="100%" cellpadding="0" cellspacing="0" border="0" style="background:${grounds.light};${font}"><tr>
<td align="center" style="padding:32px 16px">
<table role="presentation" width="100%" cellpadding="0" cellspacing="0" border="0" style="max-width:480px"><tr>
<td class="ink" style="padding:0 0 16px;font-size:16px;font-weight:600;color:#1c1d1a;${font}">${renderLogo(app, light)}</td>
</tr><tr>
<td class="card" style="padding:24px 24px 8px;border:1px solid #dfddd5;border-radius:${CORNER_RADIUS * 1.6}px;background:${light.surface};${font}">
<h1 class="ink" style="margin:0 0 16px;font-size:24px;line-height:30px;color:#1c1d1a">${escapeHtml(content.title)}</h1>
${content.paragraphs.map(renderParagraph).join('\n')}
${renderButton(url, content.button, light)}
${renderNote(mail.link)}
<p style="margin:0 0 24px;font-size:14px;line-height:21px;word-break:break-word;overflow-wrap:anywhere">\
<a href="${url}" class="link" style="color:${light.accentText}">${url}</a></p>
${content.notes.map(renderNote).join('\n')}
</td></tr><tr>
<td style="padding:16px 0 0;font-size:14px;line-height:21px;${font}">\
${help && `<a href="${escapeHtml(help)}" class="soft" style="color:#5a5b55">${footer.help}</a>`}</td>
</tr></table>
</td></tr></table>
</body>
</html>
`
}

/** Returns the colors of the dark scheme, for clients that know media queries. */
function renderStyles(dark: Palette): string {
  return `<style>
:root{color-scheme:light dark;supported-color-schemes:light dark}
@media (prefers-color-scheme:dark){
.ground{background:${grounds.dark}!important}.card{background:${dark.surface}!important;border-color:#3c3e43!important}
.ink{color:#f0efeb!important}.soft{color:#aeada6!important}.link{color:${dark.accentText}!important}
.button{background:${dark.accent}!important;border-color:${dark.accentEdge}!important;color:${dark.onAccent}!important}
}
</style>`
}

/**
 * Returns the logo, or the name next to its first letter, as in the pages. Neither is a
 * link: if the name looks like a domain, filters take a link to another domain for
 * phishing.
 */
function renderLogo(app: string, light: Palette): string {
  const { PUBLIC_URL } = env()
  const { mailLogo, mailLogoDark } = brandFiles()
  const name = escapeHtml(app)
  if (!mailLogo) return renderMark(app, light)

  // For the height, Outlook uses only the attribute.
  const size =
    ' height="40" style="display:block;height:auto;max-height:40px;max-width:100%;border:0"'
  const darkUrl = mailLogoDark && PUBLIC_URL + mailLogoDark

  return logoHtml(name, PUBLIC_URL + mailLogo, darkUrl, size)
}

/** Returns the first letter of the name in a square of the accent color, and the name. */
function renderMark(app: string, light: Palette): string {
  const radius = env().CORNER_RADIUS * 0.8
  const letter = escapeHtml([...app][0]!.toUpperCase())
  return `<table role="presentation" cellpadding="0" cellspacing="0" border="0"><tr>
<td class="button" bgcolor="${light.accent}" width="32" height="32" align="center" aria-hidden="true" \
style="border-radius:${radius}px;font-size:16px;line-height:32px;font-weight:600;color:${light.onAccent};background:${light.accent};${font}">${letter}</td>
<td width="12"></td>
<td class="ink" style="font-size:16px;font-weight:600;color:#1c1d1a;${font}">${escapeHtml(app)}</td>
</tr></table>`
}

function renderButton(url: string, label: string, light: Palette): string {
  const { CORNER_RADIUS } = env()
  return `<table role="presentation" cellpadding="0" cellspacing="0" border="0" style="margin:8px 0 24px"><tr>
<td class="button" bgcolor="${light.accent}" style="border-radius:${CORNER_RADIUS}px;background:${light.accent}"><a href="${url}" class="button" \
style="display:inline-block;padding:11px 23px;border:1px solid ${light.accentEdge};border-radius:${CORNER_RADIUS}px;font-size:16px;line-height:24px;\
font-weight:600;text-align:center;color:${light.onAccent};background:${light.accent};text-decoration:none">${escapeHtml(label)}</a></td>
</tr></table>`
}

function renderParagraph(text: string): string {
  return `<p class="ink" style="margin:0 0 16px;font-size:16px;line-height:24px;color:#1c1d1a;word-break:break-word;overflow-wrap:anywhere">\
${escapeHtml(text)}</p>`
}

function renderNote(text: string): string {
  return `<p class="soft" style="margin:0 0 16px;font-size:14px;line-height:21px;color:#5a5b55">${escapeHtml(text)}</p>`
}
