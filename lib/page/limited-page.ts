import { escapeHtml } from './escape-html'
import { textsFor } from './language'
import { inRelativeTime } from './relative-time'

const style = `:root{color-scheme:light dark}\
body{max-width:28rem;margin:15vh auto 0;padding:0 1.5rem;font:1rem/1.5 system-ui,sans-serif}\
h1{font-size:1.5rem;line-height:1.25}a{color:inherit}`

/**
 * Returns the HTML page for a client that is over the platform limit. Cheap to serve: no React, no
 * script, no other file. Its link reloads the current URL, which may hold a secret, so the URL
 * itself is not in the HTML.
 */
export function limitedPage(requestHeaders: Headers, resetSeconds: number, nonce: string): string {
  const { language, direction, app, limitedPage: texts } = textsFor(requestHeaders)
  const body = texts.body.replace('{when}', inRelativeTime(resetSeconds, language))
  return `<!doctype html>
<html lang="${language}" dir="${direction}">
<meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">\
<meta name="robots" content="noindex">
<title>${escapeHtml(`${texts.title} – ${app}`)}</title>
<style nonce="${nonce}">${style}</style>
<main><h1>${escapeHtml(texts.title)}</h1><p>${escapeHtml(body)}</p>\
<p><a href="">${escapeHtml(texts.reload)}</a></p></main>
</html>
`
}
