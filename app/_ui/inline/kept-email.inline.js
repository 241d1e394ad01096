// Stores the typed email address in sessionStorage, for other pages of this tab. It is
// not passed in a URL or a cookie.
;(() => {
  // Calls `work` with sessionStorage, or does nothing if the browser blocks the storage.
  const inStorage = (work) => {
    try {
      return work(sessionStorage)
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
  addEventListener(
    'input',
    ({ target }) => target.id === 'email' && window.keep('email', target.value),
  )
  addEventListener('DOMContentLoaded', () => {
    const email = window.kept('email')
    const [field, place] = ['email', 'kept-email'].map((id) =>
      document.getElementById(id),
    )
    if (email && field) field.value ||= email
    if (email && place) {
      const parts = email.match(/[^@.]*[@.]|[^@.]+/g) // as in address.tsx
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
    const fields = [...document.querySelectorAll('main input:not(.part *)')]
    fields.find((input) => !input.value && input.getClientRects().length > 0)?.focus()
  })
})()
