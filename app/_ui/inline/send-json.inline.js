// @ts-check
// Sends a request with a time limit. Inlined, because some requests are sent before the
// other scripts load.
;(() => {
  const postMs = 30_000 // longer than any response of the server takes

  // AbortSignal.timeout is missing before Safari 16.
  window.abortAfter = (ms) => {
    const controller = new AbortController()
    setTimeout(() => controller.abort(), ms)
    return controller.signal
  }

  window.newKey = () => {
    const bytes = crypto.getRandomValues(new Uint8Array(16))
    const text = btoa(String.fromCharCode(...bytes)) // with "==" at the end
    return text.replaceAll('+', '-').replaceAll('/', '_').slice(0, -2)
  }

  window.sendJson = (path, body, key) => {
    // Made here, so that a request without a response has an ID too. On plain http,
    // `randomUUID` is undefined.
    const requestId = crypto.randomUUID?.()
    /** @type {Record<string, string>} */
    const headers = {
      Accept: 'application/json',
      ...(requestId && { 'X-Request-Id': requestId }),
      ...(key && { 'Idempotency-Key': key }),
    }
    const isForm = body instanceof URLSearchParams
    if (!isForm) headers['Content-Type'] = 'application/json'
    const response = fetch(path, {
      method: 'POST',
      credentials: 'same-origin',
      cache: 'no-store',
      redirect: 'error',
      headers,
      body: isForm ? body : JSON.stringify(body),
      signal: window.abortAfter(postMs),
    })
    return { requestId, key, response }
  }
})()
