/**
 * Marks the page as working from now on, so that app/_ui/arrival.js no longer holds its forms back and reports no stuck scripts.
 * Returns whether a form was submitted before.
 */
export function markPageReady(): boolean {
  const page = document.documentElement.dataset
  const submittedEarly = 'submittedEarly' in page
  page.ready = ''
  for (const mark of ['submittedEarly', 'stuck', 'fragment']) delete page[mark]
  return submittedEarly
}
