import { deviceOf } from '../device'
import { languageOf } from '../page/language'
import type { MailRequest } from './outbox'

/** Returns what an email contains about the request that caused it. */
export function mailRequestOf(headers: Headers): MailRequest {
  return { language: languageOf(headers), device: deviceOf(headers.get('user-agent')) }
}
