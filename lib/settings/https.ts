/** Whether users reach this service over https: unless PUBLIC_URL begins with `http://`. On Vercel it may be unset. */
export function isHttps(): boolean {
  return !process.env.PUBLIC_URL?.trim().toLowerCase().startsWith('http://')
}
