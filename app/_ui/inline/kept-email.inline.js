// @ts-check
// Stores the typed email address in sessionStorage, for other pages of this tab. It is
// not passed in a URL or a cookie.
;(() => {
  window.kept = (name) => useStorage((storage) => storage.getItem(name))
  window.keep = (name, value) =>
    useStorage((storage) =>
      value ? storage.setItem(name, value) : storage.removeItem(name),
    )

  if (new URLSearchParams(location.search).has('another')) window.keep('email', null)
  addEventListener(
    'input',
    (event) => {
      const target = /** @type {HTMLInputElement} */ (event.target)
      if (target.id === 'email') window.keep('email', target.value)
    },
    true,
  )
  addEventListener('DOMContentLoaded', () => {
    showEmail()
    focusEmptyField()
  })

  /**
   * Does nothing if the browser blocks the storage.
   * @param {(storage: Storage) => string | null | void} work
   */
  function useStorage(work) {
    try {
      return work(sessionStorage) ?? null
    } catch {
      return null
    }
  }

  function showEmail() {
    const email = window.kept('email')
    if (!email) return
    const field = /** @type {HTMLInputElement?} */ (document.getElementById('email'))
    if (field) field.value ||= email
    const place = document.getElementById('kept-email')
    if (!place) return
    const parts = email.match(/[^@.]*[@.]|[^@.]+/g) ?? [] // as in address.tsx
    place.replaceChildren(
      ...parts.flatMap((part) => [part, document.createElement('wbr')]),
    )
    place.translate = false
  }

  function focusEmptyField() {
    // not on a phone, where the focus would open the keyboard
    if (!matchMedia('(hover: hover) and (pointer: fine)').matches) return
    if (document.activeElement !== document.body) return

    /** @type {NodeListOf<HTMLInputElement>} */
    const inputs = document.querySelectorAll('main input:not(.part *)')
    const empty = [...inputs].find(
      (input) => !input.value && input.getClientRects().length > 0,
    )
    empty?.focus()
  }
})()
