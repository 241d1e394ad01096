// @ts-check
// Inlined in the home page of a signed-in user. Renews the session, then opens `next`.
// Handles the sign-out form.
;(() => {
  const { refreshPath, renew, next } = /** @type {InlineScript} */ (
    document.currentScript
  ).dataset
  const lockMs = 30_000 // longer than a navigation takes to leave this page
  const loopMs = 10_000

  /**
   * One lock for all requests that change the session cookies. A slow response could
   * otherwise restore deleted ones.
   * @template Result
   * @param {() => Promise<Result>} work
   * @returns {Promise<Result>}
   */
  const alone = (work) =>
    navigator.locks ? navigator.locks.request('session', work) : work()
  let isSigningOut = false

  document.addEventListener('submit', (event) => {
    const form = /** @type {HTMLFormElement} */ (event.target)
    if (form.id !== 'sign-out') return
    event.preventDefault()
    isSigningOut = true
    alone(() => {
      form.submit()
      // the navigation releases the lock
      return new Promise((resolve) => setTimeout(resolve, lockMs))
    })
  })

  // A dashboard that rejects the renewed session redirects the user back here. That must
  // not become a loop.
  const goOn = () => {
    const isLoop = Date.now() - Number(sessionStorage.getItem('went-on')) < loopMs
    if (!next || isLoop) return
    sessionStorage.setItem('went-on', String(Date.now()))
    location.replace(next)
  }

  if (renew === undefined) return
  alone(() =>
    window.sendJson(refreshPath, {}).response.then((response) => response.json()),
  )
    .then(({ ok, code }) => {
      if (isSigningOut) return // a navigation would cancel the sign-out
      const [navigation] = /** @type {PerformanceNavigationTiming[]} */ (
        performance.getEntriesByType('navigation')
      )
      if (ok) goOn()
      else if (code === 'REFRESH_INVALID' && navigation?.type !== 'reload')
        location.reload() // the session has ended
    })
    .catch(() => {}) // the next page that needs the session renews it
})()
