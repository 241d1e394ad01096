/**
 * Marks the page as interactive: early-submit.inline.js then stops blocking forms and reporting stuck
 * scripts. Returns whether the user submitted a form before that.
 */
export function markPageReady(): boolean {
  const page = document.documentElement.dataset
  const submittedEarly = 'submittedEarly' in page
  page.ready = ''
  for (const mark of ['submittedEarly', 'stuck', 'fragment']) delete page[mark]
  return submittedEarly
}
