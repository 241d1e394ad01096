import type { Texts } from '../texts/en'
import { textsFor } from '../texts/texts'
import { escapeHtml } from './escape-html'
import { plainPage } from './plain-page'

/**
 * Returns the page that asks whether to sign out `email`. Its form posts `fields` to
 * `action`.
 */
export function signOutPage(
  requestHeaders: Headers,
  nonce: string,
  email: string,
  action: string,
  fields: Record<string, string>,
): string {
  const texts = textsFor(requestHeaders)
  const { title, body, stay } = texts.signOutPage

  const address = `<b translate="no"><bdi>${escapeHtml(email)}</bdi></b>`
  const paragraph = escapeHtml(body).replace('{email}', () => address)
  const form = signOutForm(texts, action, fields)
  const link = `<a class="button quiet" href="/">${escapeHtml(stay)}</a>`

  return plainPage(texts, nonce, title, `<p>${paragraph}</p>${form}${link}`, formStyles)
}

/** Returns a form with one button, as HTML. Its page needs `formStyles`. */
export function signOutForm(
  texts: Texts,
  action: string,
  fields: Record<string, string> = {},
): string {
  const inputs = Object.entries(fields).map(
    ([name, value]) =>
      `<input type="hidden" name="${name}" value="${escapeHtml(value)}">`,
  )
  const button = `<button class="button">${escapeHtml(texts.home.signOut)}</button>`

  return `<form method="post" action="${action}">${inputs.join('')}${button}</form>`
}

export const formStyles = `
button{width:100%;font:inherit;font-weight:600;cursor:pointer}
button:focus-visible{outline:3px solid var(--accent-text);outline-offset:2px}
.button.quiet{margin-block-start:.75rem;border-color:var(--line);color:inherit;background:none}`
