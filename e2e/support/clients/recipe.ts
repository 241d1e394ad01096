import type { APIRequestContext, Page } from 'playwright/test'
import { blocks } from '../documents/documents'

/** What a client under test has instead of the values in the documents. */
export type ClientValues = {
  issuer: string
  slug: string
  secret: string
  port: number
  redirectUri: string
  /** Where the user may return after a sign-out. */
  signedOutUri: string
}

/** A client under test: one page, which only signed-in users see, and a callback. */
export type RealClient = {
  /** The page. It shows the claims `sub` and `email`. */
  url: string
  redirectUri: string
  /** Begins a sign-in as a browser does, and returns the authorization request. */
  begin: (browser: APIRequestContext, page: Page) => Promise<string>
  /** Opens the page, and begins a sign-in if it needs one. */
  open: (page: Page) => Promise<void>
  /** Signs the user out at the client and at the login, as a browser does. */
  signOut: (page: Page) => Promise<unknown>
  /** The link of the error page after a sign-in that failed. */
  errorLink?: string
  stop: () => Promise<void>
}

const documents = ['docs/clients.md', 'docs/verify.md']

/**
 * Returns a recipe of docs/clients.md or docs/verify.md with other texts. Throws if it
 * lacks one of the replaced texts.
 */
export function cutOut(name: string, replaced: Record<string, string>): string {
  const { document, text } = blocks[name]!
  if (!documents.includes(document)) throw new Error(`${name} is in ${document}.`)

  return Object.entries(replaced).reduce((result, [from, to]) => {
    if (!result.includes(from)) throw new Error(`The recipe ${name} has no ${from}`)
    return result.replaceAll(from, () => to)
  }, text)
}

/**
 * Posts an empty form from the current page, as a button of it would. Resolves after the
 * redirects.
 */
export async function postForm(page: Page, path: string): Promise<void> {
  const navigated = page.waitForEvent('framenavigated')
  await page.evaluate((action) => {
    const form = Object.assign(document.createElement('form'), { method: 'post', action })
    document.body.append(form)
    form.submit()
  }, path)
  await navigated
}
