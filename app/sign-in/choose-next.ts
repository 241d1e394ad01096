/**
 * Returns the page to open after a sign-in: the one that offers to create a passkey, if
 * that is possible, otherwise the destination. `offerUrl` ends with `?` or `&`. Loads a
 * separate script, which is needed only with PASSKEYS.
 */
export function chooseNext(destination: string, offerUrl: string): Promise<string> {
  return import('./passkey-offer').then(
    ({ addOffer }) => addOffer(destination, offerUrl),
    () => destination,
  )
}
