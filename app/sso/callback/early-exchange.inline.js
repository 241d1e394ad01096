// Inlined, so that sign-in waits for no other script: posts the code, then goes to the destination.
;(() => {
  const { code } = window.urlSecrets
  const lookUpMs = 5_000
  const { path, sessionPath, destination } = document.currentScript.dataset
  if (!code || !navigator.onLine) return
  const exchange = window.sendJson(path, { code })
  window.earlyExchange = exchange
  exchange.response
    .then(async (response) => {
      // A rejected code, such as one that a second click used: the page asks who is signed in.
      if (response.status === 400) {
        const signal = window.abortAfter(lookUpMs)
        window.earlyLookUp = fetch(sessionPath, { cache: 'no-store', signal }).catch(() => null)
      }
      const { ok } = await response.clone().json()
      if (!ok) return
      document.documentElement.dataset.ready = '' // nothing else needs to load
      location.replace(destination)
    })
    .catch(() => {}) // the page shows the outcome, see sso-landing.tsx
})()
