import { signOutOfPages } from '../contract/routes'
import { formatRelativeTime } from '../texts/relative-time'
import { textsFor } from '../texts/texts'
import { escapeHtml } from './escape-html'
import { plainPage } from './plain-page'
import { formStyles, signOutForm } from './sign-out-page'

// An empty href would load the page without its fragment, which may contain a secret.
const reloadScript =
  'document.links[0].onclick = () => { location.reload(); return false }'

export type SubstituteName =
  | 'rateLimitedPage'
  | 'unavailablePage'
  | 'longUrlPage'
  | 'authorizePage'
  | 'singleLogoutPage'

/**
 * Returns a page without React, in place of the requested one. `resetSeconds` is for
 * `rateLimitedPage`.
 */
export function substitutePage(
  name: SubstituteName,
  requestHeaders: Headers,
  nonce: string,
  resetSeconds = 0,
): string {
  const texts = textsFor(requestHeaders)
  const { title, body } = texts[name]
  if (name === 'singleLogoutPage') {
    const form = signOutForm(texts, signOutOfPages.path)
    return plainPage(texts, nonce, title, `<p>${escapeHtml(body)}</p>${form}`, formStyles)
  }

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
