// @ts-check
// Inlined after the times of a page. Shows them in the user's time zone before they are
// painted, so that nothing moves.
;(() => {
  const { locale, format } = /** @type {InlineScript} */ (document.currentScript).dataset
  const { format: inTimeZone } = new Intl.DateTimeFormat(locale, JSON.parse(format))
  for (const time of document.querySelectorAll('time'))
    time.textContent = inTimeZone(new Date(time.dateTime))
})()
