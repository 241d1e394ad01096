import { type EmailForms, emailForms } from '../contract/email-address'
import { invalid } from '../contract/errors'

/** Returns the forms in which an e-mail address may be stored. Throws VALIDATION_ERROR unless it is exactly one. */
export function parseEmail(text: string): EmailForms {
  const forms = emailForms(text.trim())
  if (forms === null) throw invalid(['email'], 'invalid_email', 'Enter one e-mail address, like name@example.com.')
  return forms
}
