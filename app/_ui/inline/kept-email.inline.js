// @ts-check
// Stores the typed email address in sessionStorage, for other pages of this tab. It is
// not passed in a URL or a cookie.
;(() => {
  /**
   * Calls `work` with sessionStorage, or does nothing if the browser blocks the storage.
   * @param {(storage: Storage) => string | null | void} work
   */
  const inStorage = (work) => {
    try {
      return work(sessionStorage) ?? null
    } catch {
      return null
    }
  }
  window.kept = (name) => inStorage((storage) => storage.getItem(name))
  window.keep = (name, value) =>
    inStorage((storage) =>
      value ? storage.setItem(name, value) : storage.removeItem(name),
    )

  if (new URLSearchParams(location.search).has('another')) window.keep('email', null)
  addEventListener('input', (event) => {
    const target = /** @type {HTMLInputElement} */ (event.target)
    if (target.id === 'email') window.keep('email', target.value)
  })

  addEventListener('DOMContentLoaded', () => {
    const email = window.kept('email')
    const field = /** @type {HTMLInputElement?} */ (document.getElementById('email'))
    const place = document.getElementById('kept-email')
    if (email && field) field.value ||= email
    if (email && place) {
      const parts = email.match(/[^@.]*[@.]|[^@.]+/g) ?? [] // as in address.tsx
      place.replaceChildren(
        ...parts.flatMap((part) => [part, document.createElement('wbr')]),
      )
      place.translate = false
    }

    // not on a phone, where the focus would open the keyboard
    if (
      document.activeElement !== document.body ||
      !matchMedia('(hover: hover) and (pointer: fine)').matches
    )
      return
    /** @type {NodeListOf<HTMLInputElement>} */
    const inputs = document.querySelectorAll('main input:not(.part *)')
    const fields = [...inputs]
    fields.find((input) => !input.value && input.getClientRects().length > 0)?.focus()
  })
})()
