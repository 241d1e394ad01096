// @ts-check
// Delays forms that are submitted before the page is ready. The browser would otherwise
// send them and lose the input. If the scripts of the page fail to load, sends a held
// form that works without them.
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
      if (target instanceof HTMLScriptElement) markStuckAfter(brokenLoadMs)
    },
    true,
  )
  markStuckAfter(slowLoadMs)

  /** @param {number} ms */
  function markStuckAfter(ms) {
    setTimeout(() => {
      if ('ready' in marks) return
      marks.stuck = ''
      sendHeldForm?.()
    }, ms)
  }
})()
