import { isHttps } from '@/lib/settings/env'

/** Returns the `Content-Security-Policy` of a page whose scripts have this nonce. */
export function makeContentSecurityPolicy(nonce: string): string {
  // In development, React uses eval, Next.js styles its overlay, and hot reload uses a
  // WebSocket.
  const isDevelopment = process.env.NODE_ENV === 'development'

  return [
    `default-src 'none'`,
    `script-src 'self' 'nonce-${nonce}' 'strict-dynamic'${isDevelopment ? ` 'unsafe-eval'` : ''}`,
    isDevelopment
      ? `style-src 'self' 'unsafe-inline'`
      : `style-src 'self' 'nonce-${nonce}'`,
    `img-src 'self'${isDevelopment ? ' data: blob:' : ''}`,
    `font-src 'self'`,
    `worker-src 'self'`,
    `connect-src 'self'${isDevelopment ? ' ws: wss:' : ''}`,
    `form-action 'self'`,
    `base-uri 'none'`,
    `frame-ancestors 'none'`,
    `object-src 'none'`,
    ...(isHttps() ? ['upgrade-insecure-requests'] : []),
  ].join('; ')
}
