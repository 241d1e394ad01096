// @ts-check
// Posts the code, then opens the destination. Inlined, so that the sign-in does not wait
// for other scripts.
;(() => {
  const code = window.urlSecrets?.code
  const lookUpMs = 5_000
  const { path, sessionPath, destination } = /** @type {InlineScript} */ (
    document.currentScript
  ).dataset

  if (!code || !navigator.onLine) return

  const exchange = window.sendJson(path, { code })
  window.earlyExchange = exchange
  exchange.response
    .then(async (response) => {
      // The code was rejected, for example because a second click had used it. Looks up
      // who is signed in.
      if (response.status === 400) {
        const signal = window.abortAfter(lookUpMs)
        window.earlyLookUp = fetch(sessionPath, { cache: 'no-store', signal }).catch(
          () => null,
        )
      }
      const { ok } = await response.clone().json()
      if (!ok) return
      document.documentElement.dataset.ready = '' // the page needs no other script
      location.replace(destination)
    })
    .catch(() => {}) // sso-landing.tsx shows the outcome
})()
