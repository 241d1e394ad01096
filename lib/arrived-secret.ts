/** The query or fragment parameters that are secrets. They leave the address before anything else looks at it. */
export const secretNames = ['code', 'token'] as const

type SecretName = (typeof secretNames)[number]

declare global {
  interface Window {
    arrivedSecrets?: Partial<Record<SecretName, string>>
  }
}

/**
 * A script for the head of every page. It moves the secrets from the address into `window.arrivedSecrets`, before the router can learn the
 * address, and holds back a form that is submitted before its page is ready: the browser would send it on its own, and lose what was typed.
 */
export const arrivalScript = `(() => {
  const query = new URLSearchParams(location.search)
  const fragment = new URLSearchParams(location.hash.slice(1))
  const secrets = {}
  for (const name of ${JSON.stringify(secretNames)}) {
    const secret = query.get(name) || fragment.get(name)
    if (secret) secrets[name] = secret
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
    const page = document.documentElement.dataset
    if ('ready' in page || !('needsScript' in event.target.dataset)) return
    event.preventDefault()
    page.submittedEarly = ''
  }, true)
})()`

const taken: Partial<Record<SecretName, string>> = {}

/** Says that the page handles its form from now on, and whether that was submitted before. */
export function takeOverForm(): boolean {
  const page = document.documentElement.dataset
  const submittedEarly = 'submittedEarly' in page
  page.ready = ''
  delete page.submittedEarly
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
