import type { Caller } from '../contract/caller'
import { browserOf, cookieOf } from '../session/cookie'
import { sessionIdsOfBrowser } from '../session/find'
import { env } from '../settings/env'
import { deviceOf } from '../texts/device'
import { languageOf } from '../texts/language'
import { readAddress, toNetwork } from './address'

/**
 * Returns who sends a request. Reads a member when it is used, and verifies the cookies
 * of sessions only once.
 */
export function readCaller({ headers }: Request): Caller {
  let sessionIds: Promise<string[]> | undefined

  return {
    get address() {
      return readAddress(headers, env())
    },
    get network() {
      return toNetwork(this.address)
    },
    get browser() {
      return browserOf(headers)
    },
    get knownBrowser() {
      return cookieOf(headers, 'known')
    },
    get sessionIds() {
      sessionIds ??= sessionIdsOfBrowser(headers)
      return sessionIds
    },
    get device() {
      return deviceOf(headers.get('user-agent'))
    },
    get language() {
      return languageOf(headers)
    },
  }
}
