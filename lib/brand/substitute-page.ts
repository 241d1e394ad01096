import { textsFor } from '../texts/language'
import { formatRelativeTime } from '../texts/relative-time'
import { escapeHtml } from './escape-html'
import { plainPage } from './plain-page'

// An empty href would load the page without its fragment, which may contain a secret.
const reloadScript =
  'document.links[0].onclick = () => { location.reload(); return false }'

/**
 * Returns a page without React, in place of the requested one. `resetSeconds` is for
 * `rateLimitedPage`.
 */
export function substitutePage(
  name: 'rateLimitedPage' | 'unavailablePage' | 'longUrlPage' | 'authorizePage',
  requestHeaders: Headers,
  nonce: string,
  resetSeconds = 0,
): string {
  const texts = textsFor(requestHeaders)
  const { title, body } = texts[name]
  const links: Partial<Record<typeof name, [string, string]>> = {
    longUrlPage: ['/sign-in', texts.shared.signInAgain],
    authorizePage: ['/', texts.shared.home],
  }

  // An empty href reloads the current URL, which may contain a secret, without writing it
  // into the HTML.
  const [href, text] = links[name] ?? ['', texts.rateLimitedPage.reload]
  const paragraph = escapeHtml(
    body.replace('{when}', formatRelativeTime(resetSeconds, texts.language)),
  )

  const link = `<a class="button" href="${href}">${escapeHtml(text)}</a>`
  const script = href ? '' : `<script nonce="${nonce}">${reloadScript}</script>`

  return plainPage(texts, nonce, title, `<p>${paragraph}</p>${link}${script}`)
}
