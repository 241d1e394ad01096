// @ts-check
// Opens the destination after early-exchange.inline.js has exchanged the code. Inlined, so
// that the sign-in does not wait for other scripts.
;(() => {
  const lookUpMs = 5_000
  const { sessionPath, destination } = /** @type {InlineScript} */ (
    document.currentScript
  ).dataset

  window.earlyExchange?.response.then(leave).catch(() => {}) // sso-landing.tsx shows the outcome

  /** @param {Response} response */
  async function leave(response) {
    // The code was rejected, for example because a second click had used it.
    if (response.status === 400) window.earlyLookUp = lookUp()
    const { ok } = await response.clone().json()
    if (!ok) return
    document.documentElement.dataset.ready = '' // the page needs no other script
    location.replace(destination)
  }

  // Looks up who is signed in.
  function lookUp() {
    const signal = window.abortAfter(lookUpMs)
    return fetch(sessionPath, { cache: 'no-store', signal }).catch(() => null)
  }
})()
