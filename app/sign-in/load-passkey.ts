/** Loads a separate script, which is needed only with PASSKEYS. */
export const loadPasskey = () => import('./passkey')

/**
 * Returns the page to open after a sign-in without a passkey: the one that offers to
 * create a passkey, if that is possible, otherwise the destination.
 */
export function chooseAfterSignIn(
  destination: string,
  offerPath: string,
): Promise<string> {
  return loadPasskey().then(
    ({ chooseNext }) => chooseNext(destination, offerPath, null),
    () => destination,
  )
}
