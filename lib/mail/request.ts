import { deviceOf } from '../device'
import { languageOf } from '../page/language'
import type { MailRequest } from './outbox'

/** Returns the data about a request that an email contains. */
export function mailRequestOf(headers: Headers): MailRequest {
  return { language: languageOf(headers), device: deviceOf(headers.get('user-agent')) }
}
