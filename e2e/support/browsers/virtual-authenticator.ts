import type { Page } from 'playwright/test'
import type { Passkey } from '../authenticator'

/** An authenticator of Chromium without a device. It has at most one user. */
export type VirtualAuthenticator = {
  /** Whether it answers prompts at once. Otherwise, they wait. */
  respond: (isPresent: boolean) => Promise<void>
  /** Whether its user passes the check, such as that of a fingerprint. */
  verify: (isVerified: boolean) => Promise<void>
  /** Whether it sends responses without user verification. */
  skipVerification: (isSkipped: boolean) => Promise<void>
  /** Adds a passkey for this service, which was created elsewhere. */
  add: (passkey: Passkey) => Promise<void>
  /** The number of its passkeys. */
  count: () => Promise<number>
}

/**
 * Adds an authenticator to a page, by default a synced one of the device that does not
 * answer yet. It stays when the page opens another URL.
 */
export async function addAuthenticator(
  page: Page,
  { transport = 'internal' as 'internal' | 'usb' } = {},
): Promise<VirtualAuthenticator> {
  const devtools = await page.context().newCDPSession(page)
  await devtools.send('WebAuthn.enable')
  const { authenticatorId } = await devtools.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      ctap2Version: 'ctap2_1',
      transport,
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: false,
      defaultBackupEligibility: true,
      defaultBackupState: true,
    },
  })

  return {
    respond: (enabled) =>
      devtools.send('WebAuthn.setAutomaticPresenceSimulation', {
        authenticatorId,
        enabled,
      }) as Promise<never>,
    verify: (isUserVerified) =>
      devtools.send('WebAuthn.setUserVerified', {
        authenticatorId,
        isUserVerified,
      }) as Promise<never>,
    skipVerification: (isBadUV) =>
      devtools.send('WebAuthn.setResponseOverrideBits', {
        authenticatorId,
        isBadUV,
      }) as Promise<never>,
    add: async ({ credentialId, privateKey, userHandle, signCount }) => {
      const key = privateKey.export({ type: 'pkcs8', format: 'der' })
      const credential = {
        credentialId: credentialId.toString('base64'),
        isResidentCredential: true,
        rpId: 'localhost',
        privateKey: key.toString('base64'),
        userHandle: Buffer.from(userHandle, 'base64url').toString('base64'),
        signCount,
        backupEligibility: true,
        backupState: true,
      }
      await devtools.send('WebAuthn.addCredential', { authenticatorId, credential })
    },
    count: async () =>
      (await devtools.send('WebAuthn.getCredentials', { authenticatorId })).credentials
        .length,
  }
}
