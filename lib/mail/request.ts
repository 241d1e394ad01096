import { deviceOf } from '../texts/device'
import { languageOf } from '../texts/language'
import type { MailRequest } from './outbox'

/** Returns the language and the device of a request, for the email that it causes. */
export function mailRequestOf(headers: Headers): MailRequest {
  return { language: languageOf(headers), device: deviceOf(headers.get('user-agent')) }
}
