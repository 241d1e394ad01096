// @ts-check
// Switches the language of the pages when the user selects one in the footer.
document.addEventListener(
  'change',
  (event) => {
    const target = /** @type {HTMLSelectElement} */ (event.target)
    if (target.id !== 'language') return
    // biome-ignore lint/suspicious/noDocumentCookie: the Cookie Store API is missing from older browsers
    document.cookie = `language=${target.value}; path=/; max-age=31536000; samesite=lax`
    location.reload()
  },
  true,
)
