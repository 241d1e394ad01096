// Posts the code while the page loads, and goes on to the destination: signing in waits for no other script.
;(() => {
  const { code } = window.urlSecrets
  const { path, destination } = document.currentScript.dataset
  if (!code || !navigator.onLine) return
  const exchange = window.sendJson(path, { code })
  window.earlyExchange = exchange
  exchange.response
    .then(async (response) => {
      const { ok } = await response.clone().json()
      if (!ok) return
      document.documentElement.dataset.ready = '' // nothing more has to load
      location.replace(destination)
    })
    .catch(() => {}) // the page shows what happened, see early-exchange.ts
})()
