/** The query and fragment parameters that are secrets. app/_ui/arrival.js removes them from the URL before any other script runs. */
export const secretNames = ['code', 'token'] as const

type SecretName = (typeof secretNames)[number]

declare global {
  interface Window {
    urlSecrets?: Partial<Record<SecretName, string>>
  }
}

const taken: Partial<Record<SecretName, string>> = {}

/** The secret that the page was opened with, or null. The first call hides it from other scripts; this module keeps it until `forgetSecret`. */
export function urlSecret(name: SecretName): string | null {
  taken[name] ??= window.urlSecrets?.[name]
  delete window.urlSecrets
  return taken[name] ?? null
}

/** Forgets a secret that is no longer needed. */
export function forgetSecret(name: SecretName): void {
  delete taken[name]
}
