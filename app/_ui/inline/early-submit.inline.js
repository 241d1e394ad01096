// @ts-check
// Delays forms that are submitted before the page is ready. The browser would otherwise
// send them and lose the input. If the scripts of the page fail to load, sends a held
// form that works without them, and finds out whether a new version has replaced them.
;(() => {
  const slowLoadMs = 10_000
  const brokenLoadMs = 1_000 // leaves time for early-exchange.inline.js to succeed

  const marks = document.documentElement.dataset
  /** @type {(() => void) | undefined} */
  let sendHeldForm

  document.addEventListener(
    'submit',
    (event) => {
      const form = /** @type {HTMLFormElement} */ (event.target)
      const needsScript = 'needsScript' in form.dataset
      const isHeld = 'prefersScript' in form.dataset && !('stuck' in marks)
      if ('ready' in marks || (!needsScript && !isHeld)) return
      event.preventDefault()
      marks.submittedEarly = ''
      if (!needsScript) sendHeldForm = () => form.submit()
    },
    true,
  )
  addEventListener(
    'error',
    ({ target }) => {
      if (!(target instanceof HTMLScriptElement)) return
      window.isOutdated ??= isMissing(target.src)
      window.isOutdated.then((isOutdated) => {
        if (isOutdated) marks.outdated = ''
      })
      markStuckAfter(brokenLoadMs)
    },
    true,
  )
  addEventListener(
    'click',
    ({ target }) => {
      if (target instanceof Element && target.closest('[data-reload]')) location.reload()
    },
    true,
  )
  markStuckAfter(slowLoadMs)

  /**
   * Whether the server has no script with this URL any more.
   * @param {string} url
   */
  async function isMissing(url) {
    try {
      return (await fetch(url, { method: 'HEAD', cache: 'no-store' })).status === 404
    } catch {
      return false // offline
    }
  }

  /** @param {number} ms */
  function markStuckAfter(ms) {
    setTimeout(() => {
      if ('ready' in marks) return
      marks.stuck = ''
      sendHeldForm?.()
    }, ms)
  }
})()
