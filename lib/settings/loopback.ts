/**
 * Whether a host is this machine. Expects the `hostname` of a `URL`, which is in lower
 * case, with IPv6 in brackets.
 */
export function isLoopback(hostname: string): boolean {
  return /^(.+\.)?localhost$|^127(\.\d{1,3}){3}$|^\[::1\]$/.test(hostname)
}
