import { afterAll, afterEach, beforeAll, expect } from 'vitest'
import { type SamlCheck, SamlRejected } from '../../../lib/sso/saml/rejection'
import type { ServiceProviderSettings } from '../../../lib/sso/saml/settings'
import { verifyResponse } from '../../../lib/sso/saml/sign-in'
import { requestId, type SamlProvider } from './saml-provider'

/**
 * Returns the check at which a posted response fails, or 'accepted'. Expects that the
 * error has no other content.
 */
export async function outcomeOf(
  { settings }: SamlProvider,
  posted: string,
  changed: Partial<ServiceProviderSettings> = {},
): Promise<SamlCheck | 'accepted'> {
  try {
    await verifyResponse({ ...settings, ...changed }, posted, { requestId })
    return 'accepted'
  } catch (error) {
    if (!(error instanceof SamlRejected)) throw error
    expect([error.message, error.cause]).toEqual([
      `The sign-in was rejected: ${error.check}`,
      undefined,
    ])
    return error.check as SamlCheck
  }
}

/**
 * Expects that no test of the file prints anything. The library's parser prints warnings
 * that contain parts of the document.
 */
export function expectNothingPrinted(): void {
  const printed: unknown[] = []
  const { log, warn, error } = console
  beforeAll(() => {
    for (const method of ['log', 'warn', 'error'] as const)
      console[method] = (...texts) => void printed.push(texts)
  })
  afterEach(() => expect(printed.splice(0)).toEqual([]))
  afterAll(() => void Object.assign(console, { log, warn, error }))
}
