// Switches the language of the pages: the buttons in the footer.
document.addEventListener('click', ({ target }) => {
  const { language } = target.closest?.('[data-language]')?.dataset ?? {}
  if (!language) return
  // biome-ignore lint/suspicious/noDocumentCookie: the Cookie Store API is missing from older browsers
  document.cookie = `language=${language}; path=/; max-age=31536000; samesite=lax`
  location.reload()
})
