type SecretName = 'code' | 'token'

let secrets: Partial<Record<SecretName, string>> = {}

/**
 * Returns a secret from the page's URL, or null. The first call hides all such secrets
 * from other scripts.
 */
export function urlSecret(name: SecretName): string | null {
  // not a copy, because `forgetSecret` must delete from the object that
  // app/_ui/inline/url-secrets.inline.js uses
  secrets = window.urlSecrets ?? secrets
  delete window.urlSecrets
  return secrets[name] ?? null
}

/**
 * Deletes a secret that is no longer needed, and the attribute that
 * app/_ui/inline/url-secrets.inline.js set for it.
 */
export function forgetSecret(name: SecretName): void {
  delete secrets[name]
  delete document.documentElement.dataset[name]
}
