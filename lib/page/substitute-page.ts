import { escapeHtml } from './escape-html'
import { textsFor } from './language'
import { inRelativeTime } from './relative-time'

const style = `:root{color-scheme:light dark}\
body{max-width:28rem;margin:15vh auto 0;padding:0 1.5rem;font:1rem/1.5 system-ui,sans-serif}\
h1{font-size:1.5rem;line-height:1.25}a{color:inherit}`

/** Returns an HTML page, without React or scripts, in place of the requested one. Only `rateLimitedPage` has a wait. */
export function substitutePage(
  name: 'rateLimitedPage' | 'unavailablePage' | 'longUrlPage' | 'authorizePage',
  requestHeaders: Headers,
  nonce: string,
  resetSeconds = 0,
): string {
  const { language, direction, app, shared, ...texts } = textsFor(requestHeaders)
  const title = escapeHtml(texts[name].title)
  const body = texts[name].body.replace('{when}', inRelativeTime(resetSeconds, language))
  const links = {
    longUrlPage: ['/sign-in', shared.signInAgain],
    authorizePage: ['/', shared.home],
    // Reloads the current URL without naming it in the HTML, because it may contain a secret.
    rateLimitedPage: ['', texts.rateLimitedPage.reload],
    unavailablePage: ['', texts.rateLimitedPage.reload],
  }
  const [href, text] = links[name]
  return `<!doctype html>
<html lang="${language}" dir="${direction}">
<meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">\
<meta name="robots" content="noindex">
<title>${title} – ${escapeHtml(app)}</title>
<style nonce="${nonce}">${style}</style>
<main><h1>${title}</h1><p>${escapeHtml(body)}</p><p><a href="${href}">${escapeHtml(text!)}</a></p></main>
</html>
`
}
