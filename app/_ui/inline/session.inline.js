// @ts-check
// Inlined in the home page of a signed-in user. Renews the session, then opens `next`.
// Handles the sign-out form.
;(() => {
  const { refreshPath, renew, next } = /** @type {InlineScript} */ (
    document.currentScript
  ).dataset
  const lockMs = 30_000 // longer than a navigation takes to leave this page
  const loopMs = 10_000
  let isSigningOut = false

  document.addEventListener('submit', (event) => {
    const form = /** @type {HTMLFormElement} */ (event.target)
    if (form.id !== 'sign-out') return
    event.preventDefault()
    isSigningOut = true
    runAlone(() => {
      form.submit()
      // the navigation releases the lock
      return new Promise((resolve) => setTimeout(resolve, lockMs))
    })
  })
  if (renew === undefined) return
  runAlone(async () => (await window.sendJson(refreshPath, {}).response).json())
    .then(({ ok, code }) => {
      if (isSigningOut) return // a navigation would cancel the sign-out
      if (ok) goOn()
      else if (code === 'REFRESH_INVALID' && !wasReloaded()) location.reload() // the session has ended
    })
    .catch(() => {}) // the next page that needs the session renews it

  /**
   * One lock for all requests that change cookies. A slow response could otherwise restore
   * deleted ones.
   * @template Result
   * @param {() => Promise<Result>} work
   * @returns {Promise<Result>}
   */
  function runAlone(work) {
    return navigator.locks ? navigator.locks.request('session', work) : work()
  }

  function wasReloaded() {
    const [navigation] = /** @type {PerformanceNavigationTiming[]} */ (
      performance.getEntriesByType('navigation')
    )
    return navigation?.type === 'reload'
  }

  // A dashboard that rejects the renewed session redirects the user back here. That must
  // not become a loop.
  function goOn() {
    const isLoop = Date.now() - Number(sessionStorage.getItem('went-on')) < loopMs
    if (!next || isLoop) return
    sessionStorage.setItem('went-on', String(Date.now()))
    location.replace(next)
  }
})()
