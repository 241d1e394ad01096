// Inlined in the head of every page, so that it runs before, and without, every other script.
;(() => {
  const slowLoadMs = 10_000
  const brokenLoadMs = 1_000 // leaves time for an early exchange to succeed
  const postMs = 30_000 // longer than any response of the server takes

  const marks = document.documentElement.dataset
  const query = new URLSearchParams(location.search)
  const fragment = new URLSearchParams(location.hash.slice(1))
  const secrets = {}
  for (const name of document.currentScript.dataset.secrets.split(' ')) {
    const secret = query.get(name) || fragment.get(name)
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

  /** Opens a link again after a reload: the server then looks it up again. */
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

  // AbortSignal.timeout is missing before Safari 16.
  window.abortAfter = (ms) => {
    const controller = new AbortController()
    setTimeout(() => controller.abort(), ms)
    return controller.signal
  }

  window.sendJson = (path, body) => {
    // Sent, so that a request without a response has an ID too. Undefined on plain http.
    const requestId = crypto.randomUUID?.()
    const response = fetch(path, {
      method: 'POST',
      credentials: 'same-origin',
      cache: 'no-store',
      redirect: 'error',
      headers: { 'Content-Type': 'application/json', ...(requestId && { 'X-Request-Id': requestId }) },
      body: JSON.stringify(body),
      signal: window.abortAfter(postMs),
    })
    return { requestId, response }
  }

  // The browser would send a form submitted before the page is ready, and lose its input. If the
  // scripts fail to load, a form that works without them is sent after all.
  let sendHeldForm
  document.addEventListener(
    'submit',
    (event) => {
      const form = event.target
      const needsScript = 'needsScript' in form.dataset
      if ('ready' in marks || !(needsScript || ('prefersScript' in form.dataset && !('stuck' in marks)))) return
      event.preventDefault()
      marks.submittedEarly = ''
      if (!needsScript) sendHeldForm = () => form.submit()
    },
    true,
  )
  document.addEventListener('click', ({ target }) => {
    const { language } = target.closest?.('[data-language]')?.dataset ?? {}
    if (!language) return
    // biome-ignore lint/suspicious/noDocumentCookie: the Cookie Store API is missing from older browsers
    document.cookie = `language=${language}; path=/; max-age=31536000; samesite=lax`
    location.reload()
  })
  const markStuckAfter = (ms) =>
    setTimeout(() => {
      if ('ready' in marks) return
      marks.stuck = ''
      sendHeldForm?.()
    }, ms)
  addEventListener('error', ({ target }) => target instanceof HTMLScriptElement && markStuckAfter(brokenLoadMs), true)
  markStuckAfter(slowLoadMs)
})()
