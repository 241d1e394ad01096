/** @type {import('next').NextConfig} */
export default {
  poweredByHeader: false,
  reactStrictMode: true,
  agentRules: false, // Next.js would write files of its own into the project
  // A start loads what the first request needs, not every page: it answers sooner, and the first of each page pays for its own 80 ms.
  experimental: { preloadEntriesOnStart: false },
  // bin/server.mjs does, for pages alone. On Vercel, Vercel does.
  compress: false,
  // A redirect would write the code or the token into one more address.
  skipTrailingSlashRedirect: true,
  // In development Next.js would print the address of every request, and with it the code or the token.
  logging: { incomingRequests: false },
  serverExternalPackages: ['bcrypt', 'pg', 'pino'],
}
