import { existsSync, readdirSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { PHASE_PRODUCTION_BUILD } from 'next/constants.js'

/** @type {import('next').NextConfig} */
const config = {
  output: process.env.VERCEL ? undefined : 'standalone', // see bin/build.ts
  poweredByHeader: false,
  reactStrictMode: true,
  agentRules: false, // Next.js would otherwise write files of its own into the project
  // Loads pages on their first request, not at start: the server responds sooner, and the first
  // request for each page takes 80 ms more.
  // proxyClientMaxBodySize: Next.js keeps the body of each request to a page, which none reads.
  experimental: { preloadEntriesOnStart: false, proxyClientMaxBodySize: '1kb' },
  // A redirect would copy the code or the token into another URL.
  skipTrailingSlashRedirect: true,
  // Disables the image optimiser: /_next/image would fetch any path of this server without counting
  // it against the limit.
  images: { unoptimized: true },
  // In development, Next.js would print the URL of every request, with its code or token.
  logging: { incomingRequests: false },
  serverExternalPackages: ['bcrypt', 'nodemailer', 'pg', 'pino'],
  devIndicators: false, // it would cover the footer
  compiler: {
    runAfterProductionCompile: ({ distDir }) => hintCompilation(distDir),
  },
}

/**
 * Embeds the list of the brand's files for app/_ui/brand-files.ts, the names of the migrations for
 * lib/database/readiness.ts and, at build time, styles.css for app/_ui/page-styles.tsx. `import text from './script.js?raw'` imports the text of a file, which a
 * build minifies, to inline it into pages.
 */
export default async function configure(phase) {
  const defineServer = {
    'process.env.BRAND_FILES': JSON.stringify(brandFiles()),
    'process.env.MIGRATIONS': JSON.stringify(
      readdirSync(new URL('prisma/migrations', import.meta.url)).filter(isDated),
    ),
  }
  const raw = { condition: { query: '?raw' }, type: 'text' }
  if (phase === PHASE_PRODUCTION_BUILD) {
    const styles = await readFile(new URL('app/_ui/styles.css', import.meta.url), 'utf8')
    const { transform } = await import('esbuild')
    defineServer['process.env.PAGE_STYLES'] = (await transform(styles, { loader: 'css', minify: true })).code
    raw.loaders = ['./bin/minify.cjs']
  }
  return {
    ...config,
    turbopack: { rules: { '*': raw } },
    compiler: { ...config.compiler, defineServer },
    // Browsers and bots request this icon even if no page links to it.
    rewrites: async () => [{ source: '/favicon.ico', destination: brandFiles().icon ?? '/icon.svg' }],
    // Browsers ignore HSTS over HTTP. Only the operator knows about subdomains.
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
}

const isDated = (name) => /^\d{14}_/.test(name)

/** The URL paths of what is in public/brand/. */
function brandFiles() {
  const find = (...names) =>
    names.map((name) => `/brand/${name}`).find((path) => existsSync(new URL(`public${path}`, import.meta.url)))
  return {
    logo: find('logo.svg', 'logo.png'),
    logoDark: find('logo-dark.svg', 'logo-dark.png'),
    icon: find('icon.svg', 'icon.png'),
    touchIcon: find('touch-icon.png'),
    font: find('font.woff2'),
  }
}

/**
 * Marks the scripts that start every page for eager compilation (V8's explicit compile hints,
 * Chrome 136). They then compile on another thread while they load. Compiling each function on its
 * first call takes twice as long and blocks the page. Other browsers see a comment.
 */
async function hintCompilation(distDir) {
  const { rootMainFiles } = JSON.parse(await readFile(join(distDir, 'build-manifest.json'), 'utf8'))
  for (const name of rootMainFiles) {
    const file = join(distDir, name)
    await writeFile(file, `//# allFunctionsCalledOnLoad\n${await readFile(file, 'utf8')}`)
  }
}
