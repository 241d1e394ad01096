import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { PHASE_PRODUCTION_BUILD } from 'next/constants.js'

/** @type {import('next').NextConfig} */
const config = {
  poweredByHeader: false,
  reactStrictMode: true,
  agentRules: false, // Next.js would write files of its own into the project
  // A start loads what the first request needs, not every page: it answers sooner, and the first of each page pays for its own 80 ms.
  experimental: { preloadEntriesOnStart: false },
  // bin/server.mjs does, for pages alone. On Vercel, Vercel does.
  compress: false,
  // A redirect would write the code or the token into one more address.
  skipTrailingSlashRedirect: true,
  // No image optimiser: /_next/image would fetch any path of this server, past its limit.
  images: { unoptimized: true },
  // In development Next.js would print the address of every request, and with it the code or the token.
  logging: { incomingRequests: false },
  serverExternalPackages: ['bcrypt', 'pg', 'pino'],
  // `import text from './file.css?raw'` is the text of a file that is written into pages.
  turbopack: { rules: { '*': { condition: { query: '?raw' }, type: 'text' } } },
  compiler: {
    async runAfterProductionCompile({ distDir }) {
      await hintCompilation(distDir)
      await compressScripts(distDir)
    },
  },
}

/** At build time, puts styles.css where app/_ui/styles.ts reads it. */
export default async function configure(phase) {
  if (phase !== PHASE_PRODUCTION_BUILD) return config
  const styles = await readFile(new URL('app/_ui/styles.css', import.meta.url), 'utf8')
  return { ...config, compiler: { ...config.compiler, defineServer: { 'process.env.PAGE_STYLES': styles } } }
}

/**
 * Has the browser compile the scripts that start every page while they load, on another thread, instead of function by function once they run,
 * which takes twice as long and holds the page: V8's explicit compile hints, of Chrome 136. Elsewhere they are a comment.
 */
async function hintCompilation(distDir) {
  const { rootMainFiles } = JSON.parse(await readFile(join(distDir, 'build-manifest.json'), 'utf8'))
  for (const name of rootMainFiles) {
    const file = join(distDir, name)
    await writeFile(file, `//# allFunctionsCalledOnLoad\n${await readFile(file, 'utf8')}`)
  }
}

/** Compresses the scripts once, for bin/server.mjs. Vercel does that itself. */
async function compressScripts(distDir) {
  if (process.env.VERCEL) return
  const folder = join(distDir, 'static')
  for (const name of await readdir(folder, { recursive: true })) {
    if (!name.endsWith('.js')) continue
    const file = join(folder, name)
    await writeFile(`${file}.gz`, gzipSync(await readFile(file), { level: 9 }))
  }
}
