import { existsSync, readdirSync, readFileSync } from 'node:fs'

const migrations = readdirSync(new URL('prisma/migrations', import.meta.url)).filter(
  (name) => /^\d{14}_/.test(name),
)

const { version } = JSON.parse(
  readFileSync(new URL('package.json', import.meta.url), 'utf8'),
)

// The tests use a build with BUILD_TEST_PREVIEW=true.
const hasPreview =
  process.env.NODE_ENV === 'development' || process.env.BUILD_TEST_PREVIEW === 'true'

/** @type {import('next').NextConfig} */
const config = {
  output: process.env.VERCEL ? undefined : 'standalone', // see bin/build.ts
  // Production does not include the preview of the pages.
  pageExtensions: ['ts', 'tsx', ...(hasPreview ? ['preview.ts'] : [])],
  poweredByHeader: false,
  reactStrictMode: true,
  typescript: { ignoreBuildErrors: hasPreview }, // `npm run check` has checked the types
  agentRules: false, // otherwise, Next.js would add files to the project
  // Loads each page on its first request, not at start. The server starts faster, but the
  // first request for each page takes 80 ms longer. proxyClientMaxBodySize: Next.js
  // buffers the body of each request to a page, but no page reads it.
  experimental: { preloadEntriesOnStart: false, proxyClientMaxBodySize: '1kb' },
  // A redirect would copy a code or a token into another URL.
  skipTrailingSlashRedirect: true,
  // Disables the image optimizer, because /_next/image would request any path of this
  // server without counting the request against the rate limit.
  images: { unoptimized: true },
  // Otherwise, Next.js would print the URL of every request in development, with its code
  // or token.
  logging: { incomingRequests: false },
  serverExternalPackages: ['bcrypt', 'nodemailer', 'pg', 'pino'],
  devIndicators: false, // the indicator would cover the footer
  // `import text from './script.js?raw'` imports the text of a file, to inline it into
  // pages.
  turbopack: { rules: { '*': { condition: { query: '?raw' }, type: 'text' } } },
  compiler: {
    defineServer: {
      'process.env.HAS_PREVIEW': hasPreview, // for proxy.ts
      'process.env.BRAND_FILES': JSON.stringify(brandFiles()), // for lib/brand/files.ts
      'process.env.APP_VERSION': version, // for lib/log/export.ts
      'process.env.MIGRATIONS': JSON.stringify(migrations), // for lib/database/readiness.ts
    },
  },
  // Browsers and bots request this icon even if no page links to it.
  rewrites: async () => [
    { source: '/favicon.ico', destination: brandFiles().icon ?? '/icon.svg' },
  ],
  // Browsers ignore HSTS over HTTP. No includeSubDomains: only the operator knows whether
  // subdomains use HTTPS.
  headers: async () => [
    {
      source: '/:path*',
      headers: [
        { key: 'X-Content-Type-Options', value: 'nosniff' },
        { key: 'Strict-Transport-Security', value: 'max-age=63072000' },
      ],
    },
    {
      source: '/:file(icon\\.svg|favicon\\.ico|robots\\.txt|brand/.*)',
      headers: [{ key: 'Cache-Control', value: 'public, max-age=3600' }],
    },
  ],
}

export default config

/** The URL paths of the files in public/brand/. */
function brandFiles() {
  const find = (...names) =>
    names
      .map((name) => `/brand/${name}`)
      .find((path) => existsSync(new URL(`public${path}`, import.meta.url)))
  return {
    logo: find('logo.svg', 'logo.png'),
    logoDark: find('logo-dark.svg', 'logo-dark.png'),
    mailLogo: find('logo.png'), // Gmail and Outlook show no SVG
    mailLogoDark: find('logo-dark.png'),
    icon: find('icon.svg', 'icon.png'),
    touchIcon: find('touch-icon.png'),
    font: find('font.woff2'),
  }
}
