import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

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
  // No image optimiser: /_next/image would fetch any path of this server, past its limit.
  images: { unoptimized: true },
  // In development Next.js would print the address of every request, and with it the code or the token.
  logging: { incomingRequests: false },
  serverExternalPackages: ['bcrypt', 'pg', 'pino'],
  compiler: { runAfterProductionCompile: hintCompilation },
}

/**
 * Has the browser compile the scripts that start every page while they load, on another thread, instead of function by function once they run,
 * which takes twice as long and holds the page: V8's explicit compile hints, of Chrome 136. Elsewhere they are a comment.
 */
async function hintCompilation({ distDir }) {
  const { rootMainFiles } = JSON.parse(await readFile(join(distDir, 'build-manifest.json'), 'utf8'))
  for (const name of rootMainFiles) {
    const file = join(distDir, name)
    await writeFile(file, `//# allFunctionsCalledOnLoad\n${await readFile(file, 'utf8')}`)
  }
}
