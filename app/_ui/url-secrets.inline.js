// Takes the secrets out of the URL before any other script runs. The page's scripts find them in `window.urlSecrets`.
;(() => {
  const marks = document.documentElement.dataset
  const query = new URLSearchParams(location.search)
  const fragment = new URLSearchParams(location.hash.slice(1))
  const secrets = {}
  for (const name of document.currentScript.dataset.secrets.split(' ')) {
    const value = query.get(name) || fragment.get(name)
    // Like lib/page/hide-secrets.ts: characters that can't be part of a secret came from the text around a link.
    const secret = value?.replace(/[^\w-]/g, '').slice(0, 43)
    if (secret) secrets[name] = secret
    if (secret && !query.get(name)) marks.fragment = '' // the server did not see the secret
    query.delete(name)
    fragment.delete(name)
  }
  window.urlSecrets = secrets
  if (secrets.code && location.pathname === '/sso/callback') marks.code = ''
  if (Object.keys(secrets).length) {
    const url = new URL(location)
    url.search = query
    url.hash = fragment
    // For a reload, Back, or a tab that the browser discarded. A code has expired by then.
    const { token } = secrets
    history.replaceState(token ? { token, inFragment: 'fragment' in marks } : null, '', url)
  } else if (history.state?.token) restore(history.state)

  /** Opens a link again after a reload, so that the server looks it up again. */
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
