/**
 * Whether users reach this service over https: true unless PUBLIC_URL begins with `http://`, also if it is unset, as on
 * Vercel. A separate file, because proxy.ts must not load the settings schema before the first response of a process.
 */
export function isHttps(): boolean {
  return !process.env.PUBLIC_URL?.trim().toLowerCase().startsWith('http://')
}
