import { escapeHtml } from './escape-html'
import { textsFor } from './language'
import { inRelativeTime } from './relative-time'
import type { Texts } from './texts/en'

const style = `:root{color-scheme:light dark}\
body{max-width:28rem;margin:15vh auto 0;padding:0 1.5rem;font:1rem/1.5 system-ui,sans-serif}\
h1{font-size:1.5rem;line-height:1.25}a{color:inherit}`

/** Returns the HTML page for a client that is over the platform limit. */
export function rateLimitedPage(requestHeaders: Headers, resetSeconds: number, nonce: string): string {
  const texts = textsFor(requestHeaders)
  const body = texts.rateLimitedPage.body.replace('{when}', inRelativeTime(resetSeconds, texts.language))
  return plainPage(texts, texts.rateLimitedPage.title, body, nonce)
}

/** Returns the HTML page for a request that needs the database while it is unavailable. */
export function unavailablePage(requestHeaders: Headers, nonce: string): string {
  const texts = textsFor(requestHeaders)
  return plainPage(texts, texts.unavailablePage.title, texts.unavailablePage.body, nonce)
}

/** Returns the HTML page for a request whose URL is too long: such as a response of an OpenID provider. */
export function longUrlPage(requestHeaders: Headers, nonce: string): string {
  const texts = textsFor(requestHeaders)
  const { title, body } = texts.longUrlPage
  return plainPage(texts, title, body, nonce, { href: '/sign-in', text: texts.shared.signInAgain })
}

/** Returns the HTML page for a dashboard's request that can't be answered at its callback. */
export function authorizePage(requestHeaders: Headers, nonce: string): string {
  const texts = textsFor(requestHeaders)
  const { title, body } = texts.authorizePage
  return plainPage(texts, title, body, nonce, { href: '/', text: texts.shared.home })
}

/**
 * Cheap to serve: no React, no script, no other file. By default, its link reloads the current URL,
 * which may hold a secret, so the URL itself is not in the HTML.
 */
function plainPage(
  { language, direction, app, rateLimitedPage }: Texts,
  title: string,
  body: string,
  nonce: string,
  link = { href: '', text: rateLimitedPage.reload },
) {
  return `<!doctype html>
<html lang="${language}" dir="${direction}">
<meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">\
<meta name="robots" content="noindex">
<title>${escapeHtml(`${title} – ${app}`)}</title>
<style nonce="${nonce}">${style}</style>
<main><h1>${escapeHtml(title)}</h1><p>${escapeHtml(body)}</p>\
<p><a href="${link.href}">${escapeHtml(link.text)}</a></p></main>
</html>
`
}
