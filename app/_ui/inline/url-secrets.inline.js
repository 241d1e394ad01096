// @ts-check
// Moves the secrets from the URL to `window.urlSecrets` before any other script runs.
;(() => {
  const marks = document.documentElement.dataset
  const query = new URLSearchParams(location.search)
  const fragment = new URLSearchParams(location.hash.slice(1))
  const script = /** @type {InlineScript} */ (document.currentScript)
  const names = /** @type {('code' | 'token')[]} */ (script.dataset.secrets.split(' '))
  /** @type {NonNullable<Window['urlSecrets']>} */
  const secrets = {}

  for (const name of names) {
    const value = query.get(name) || fragment.get(name)
    // As in lib/http/hide-secrets.ts: removes characters that come from the text around a
    // copied link.
    const secret = value?.replace(/[^\w-]/g, '').slice(0, 43)
    if (secret) secrets[name] = secret
    if (secret && !query.get(name)) marks.fragment = '' // the server did not see the secret
    query.delete(name)
    fragment.delete(name)
  }
  window.urlSecrets = secrets
  if (secrets.code && location.pathname === '/sso/callback') marks.code = ''
  if (Object.keys(secrets).length) hide()
  else if (history.state?.token) restore(history.state)
  else if (isNextIncomplete()) completeNext()

  // A link with a secret that is pasted into this page changes only the fragment, so the
  // browser loads nothing.
  addEventListener('hashchange', () => {
    const pasted = new URLSearchParams(location.hash.slice(1))
    if (names.some((name) => pasted.has(name))) location.reload()
  })

  // After a redirect from /app#/reports to /?next=/app, the URL of this page has the
  // fragment. Errors of /sso/callback have one of their own.
  function isNextIncomplete() {
    const isDestined = ['/', '/sign-in'].includes(location.pathname)
    return isDestined && query.get('next') && location.hash.length > 1
  }

  function completeNext() {
    marks.leaving = ''
    query.set('next', query.get('next')?.split('#')[0] + location.hash)
    location.replace(`?${query}`)
  }

  // Stores the token for a reload, for Back, and for a discarded tab. A code would have
  // expired by then.
  function hide({ token } = secrets) {
    const url = new URL(location.href)
    url.search = query.toString()
    url.hash = fragment.toString()
    const state = token ? { token, inFragment: 'fragment' in marks } : null
    history.replaceState(state, '', url)
  }

  /**
   * Opens a link again after a reload, so that the server looks it up again.
   * @param {{ token: string, inFragment: boolean }} state
   */
  function restore({ token, inFragment }) {
    if (inFragment) {
      secrets.token = token
      marks.fragment = ''
      return
    }
    marks.leaving = ''
    query.set('token', token)
    location.replace(`?${query}`)
  }
})()
