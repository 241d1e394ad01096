// Runs in the head of every page, before any other script, and works where no other script arrives.
;(() => {
  const slowLoadMs = 10_000
  const brokenLoadMs = 1_000 // an early exchange may still succeed
  const postMs = 30_000 // longer than the server takes for anything

  const page = document.documentElement.dataset
  const query = new URLSearchParams(location.search)
  const fragment = new URLSearchParams(location.hash.slice(1))
  const secrets = {}
  for (const name of document.currentScript.dataset.secrets.split(' ')) {
    const secret = query.get(name) || fragment.get(name)
    if (secret) secrets[name] = secret
    if (secret && !query.get(name)) page.fragment = '' // the server rendered the page without a secret
    query.delete(name)
    fragment.delete(name)
  }
  window.urlSecrets = secrets
  if (Object.keys(secrets).length) {
    const url = new URL(location)
    url.search = query
    url.hash = fragment
    history.replaceState(null, '', url)
  }

  window.sendJson = (path, body) => {
    const requestId = crypto.randomUUID?.() // not on plain http; ours, so that even a lost response has one
    const response = fetch(path, {
      method: 'POST',
      credentials: 'same-origin',
      cache: 'no-store',
      redirect: 'error',
      headers: { 'Content-Type': 'application/json', ...(requestId && { 'X-Request-Id': requestId }) },
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(postMs),
    })
    return { requestId, response }
  }

  // A form submitted before its page is ready would be sent by the browser, and what was typed would be lost.
  document.addEventListener(
    'submit',
    (event) => {
      if ('ready' in page || !('needsScript' in event.target.dataset)) return
      event.preventDefault()
      page.submittedEarly = ''
    },
    true,
  )
  const checkIn = (ms) =>
    setTimeout(() => {
      if (!('ready' in page)) page.stuck = ''
    }, ms)
  addEventListener('error', ({ target }) => target instanceof HTMLScriptElement && checkIn(brokenLoadMs), true)
  checkIn(slowLoadMs)
})()
