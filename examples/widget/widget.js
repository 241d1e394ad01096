// An embeddable widget. Customers with an approved origin add this tag to a page, where
// the widget appears: <script src="https://widgets.example.com/widget.js"
// data-login="https://login.example.com" data-token="wgt_…" async></script>
;(() => {
  const script = document.currentScript
  const { login, token: widgetToken } = script.dataset
  const api = new URL(script.src).origin
  const final = ['WIDGET_TOKEN_INVALID', 'ORIGIN_REJECTED'] // after these, a retry would fail too
  const maxTries = 3
  // The JWT, and until when to use it. Not performance.now(), which may stop while the
  // computer sleeps.
  let session = null
  let pending = null
  let stopped = false

  /**
   * Resolves to a JWT for this page, or to null without one. Concurrent calls share one
   * request.
   */
  function getToken() {
    if (session && Date.now() < session.until) return Promise.resolve(session.jwt)
    pending ??= startSession().finally(() => (pending = null))
    return pending
  }

  async function startSession() {
    for (let tries = 1; !stopped; tries++) {
      const response = await fetch(`${login}/api/widget/session`, {
        method: 'POST',
        credentials: 'omit',
        headers: { 'Content-Type': 'application/json' },
        body: JSON.stringify({ widgetToken }),
      }).catch(() => null) // offline, or blocked by the policy of the page
      const body = await response?.json().catch(() => null)
      if (response?.ok) {
        const { iat, exp } = JSON.parse(
          atob(body.token.split('.')[1].replace(/-/g, '+').replace(/_/g, '/')),
        )
        // a minute early
        session = { jwt: body.token, until: Date.now() + (exp - iat - 60) * 1_000 }
        return session.jwt
      }
      stopped = final.includes(body?.code)
      const isBusy = !response || response.status === 429 || response.status === 503
      if (stopped || !isBusy || tries === maxTries) {
        console.error(
          `The widget got no session: ${body?.code ?? 'no response'}, request ${body?.requestId ?? 'unknown'}`,
        )
        return null
      }
      const seconds = Number(response?.headers.get('Retry-After') ?? 1)
      await new Promise((resolve) => setTimeout(resolve, seconds * 1_000))
    }
    return null
  }

  const element = document.createElement('p')
  const button = document.createElement('button')
  button.textContent = 'Again'
  button.onclick = show

  /**
   * Calls the API of the widget. After a 401, tries once more with a new JWT: the clock of
   * the computer may be wrong, or the keys may have changed. Resolves to null without a
   * response.
   */
  async function request(path, isLast = false) {
    const jwt = await getToken()
    if (!jwt) return null
    const response = await fetch(api + path, {
      headers: { Authorization: `Bearer ${jwt}` },
      credentials: 'omit',
    }).catch(() => null)
    if (response?.status !== 401 || isLast) return response
    session = null
    return request(path, true)
  }

  async function show() {
    const response = await request('/greeting')
    if (stopped) return element.remove()
    element.replaceChildren(
      response?.ok ? (await response.json()).greeting : 'Not available.',
      ' ',
      button,
    )
  }

  script.after(element)
  show()
})()
