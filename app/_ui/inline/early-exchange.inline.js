// @ts-check
// Posts the code. In the head, before the styles, so that a phone sends it before it has
// read the page. early-leave.inline.js handles the response.
;(() => {
  const code = window.urlSecrets?.code
  const { path } = /** @type {InlineScript} */ (document.currentScript).dataset

  if (!code || !navigator.onLine) return
  window.earlyExchange = window.sendJson(path, { code }, window.newKey())
  window.earlyExchange.response.catch(() => {}) // sso-landing.tsx shows the outcome
})()
