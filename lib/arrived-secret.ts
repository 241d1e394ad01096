/** The query or fragment parameters that are secrets. They leave the address before anything else looks at it. */
export const secretNames = ['code', 'token'] as const

type SecretName = (typeof secretNames)[number]

declare global {
  interface Window {
    arrivedSecrets?: Partial<Record<SecretName, string>>
  }
}

const slowLoadMs = 10_000
const brokenLoadMs = 1_000 // a sign-in that is under way may still succeed

/**
 * A script for the head of every page, which works where the others don't arrive. It moves the secrets from the address into
 * `window.arrivedSecrets`, before the router can learn the address; holds back a form that is submitted before its page is ready, because the
 * browser would send it on its own, and lose what was typed; and leaves marks on the document, for app/styles.ts to show what is the matter.
 */
export const arrivalScript = `(() => {
  const page = document.documentElement.dataset
  const query = new URLSearchParams(location.search)
  const fragment = new URLSearchParams(location.hash.slice(1))
  const secrets = {}
  for (const name of ${JSON.stringify(secretNames)}) {
    const secret = query.get(name) || fragment.get(name)
    if (secret) secrets[name] = secret
    if (secret && !query.get(name)) page.fragment = '' // the server rendered the page of somebody without a secret
    query.delete(name)
    fragment.delete(name)
  }
  window.arrivedSecrets = secrets
  if (Object.keys(secrets).length) {
    const address = new URL(location)
    address.search = query
    address.hash = fragment
    history.replaceState(null, '', address)
  }
  document.addEventListener('submit', (event) => {
    if ('ready' in page || !('needsScript' in event.target.dataset)) return
    event.preventDefault()
    page.submittedEarly = ''
  }, true)
  const checkIn = (ms) => setTimeout(() => { if (!('ready' in page)) page.stuck = '' }, ms)
  addEventListener('error', ({ target }) => target instanceof HTMLScriptElement && checkIn(${brokenLoadMs}), true)
  checkIn(${slowLoadMs})
})()`

const taken: Partial<Record<SecretName, string>> = {}

/** Says that the page works from now on, and answers whether its form was submitted before. */
export function takeOver(): boolean {
  const page = document.documentElement.dataset
  const submittedEarly = 'submittedEarly' in page
  page.ready = ''
  for (const mark of ['submittedEarly', 'stuck', 'fragment']) delete page[mark]
  return submittedEarly
}

/** The secret that the page was opened with, or null. The first call moves it out of the reach of other scripts; it stays known to this module until `forgetSecret`. */
export function arrivedSecret(name: SecretName): string | null {
  taken[name] ??= window.arrivedSecrets?.[name]
  delete window.arrivedSecrets
  return taken[name] ?? null
}

/** Lets go of a secret that has served. */
export function forgetSecret(name: SecretName): void {
  delete taken[name]
}
