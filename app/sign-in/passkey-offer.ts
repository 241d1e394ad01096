/**
 * Returns the URL of the page that offers to create a passkey, unless this browser can't
 * create one or the user has declined. Otherwise, returns the destination. `offerUrl` ends
 * with `?` or `&`.
 */
export async function addOffer(destination: string, offerUrl: string): Promise<string> {
  try {
    const isAllowed = Date.now() > Number(localStorage.getItem('next-passkey-offer'))
    if (
      isAllowed &&
      (await PublicKeyCredential.isUserVerifyingPlatformAuthenticatorAvailable())
    )
      return `${offerUrl}next=${encodeURIComponent(destination)}`
  } catch {} // no WebAuthn, or no storage

  return destination
}
