/** @type {import('next').NextConfig} */
export default {
  poweredByHeader: false,
  reactStrictMode: true,
  agentRules: false,
  // bin/server.mjs does, for pages alone. On Vercel, Vercel does.
  compress: false,
  // A redirect would write the code or the token into one more address.
  skipTrailingSlashRedirect: true,
  // In development Next.js would print the address of every request, and with it the code or the token.
  logging: { incomingRequests: false },
  serverExternalPackages: ['bcrypt', 'pg', 'pino'],
}
