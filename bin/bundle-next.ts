import { existsSync, readdirSync } from 'node:fs'
import { build, type Plugin } from 'esbuild'

const copied = '.next/standalone/node_modules/' // what Next.js needs in production
const inNext = /[\\/]node_modules[\\/](next[\\/].*)/

/**
 * Returns a plugin for esbuild that bundles the server of Next.js with what imports it,
 * because finding and compiling its 300 files would take a third of the start. Needs the
 * production folder. These files stay apart:
 *
 * - `.external.js`, and what they import: their state must exist once, because pages and
 *   routes load them too
 * - its compiled packages
 * - what only development loads, which is not in the production folder
 */
export async function bundleNext(): Promise<Plugin> {
  const files = readdirSync(`${copied}next/dist`, { recursive: true, encoding: 'utf8' })
  const shared = files.filter((file) => file.endsWith('.external.js'))
  const { metafile } = await build({
    entryPoints: shared.map((file) => `${copied}next/dist/${file}`),
    outdir: 'unused',
    write: false,
    bundle: true,
    platform: 'node',
    metafile: true,
    plugins: [bundleWithout([])],
  })

  return bundleWithout(Object.keys(metafile.inputs).map(nameInNext))
}

function bundleWithout(apart: (string | undefined)[]): Plugin {
  return {
    name: 'bundle-next',
    setup({ onResolve, resolve }) {
      onResolve({ filter: /./ }, async ({ path, pluginData, ...from }) => {
        if (from.kind === 'entry-point' || pluginData === apart) return null
        const isRelativeOrNext = /^(\.|next(\/|$))/.test(path)
        const isAsked = /^next(\/|$)/.test(path) || inNext.test(from.importer)
        if (!isAsked) return null
        if (!isRelativeOrNext) return { path, external: true }

        const found = await resolve(path, { ...from, pluginData: apart })
        const file = nameInNext(found.path)
        if (!file) return found

        const isApart = /^next\/dist\/compiled\//.test(file) || apart.includes(file)
        const isCopied = existsSync(copied + file)
        return isApart || !isCopied ? { path: file, external: true } : found
      })
    },
  }
}

/** Returns the path of a file in `next`, such as `next/dist/server/next.js`. */
function nameInNext(path: string): string | undefined {
  return inNext.exec(path)?.[1]?.replaceAll('\\', '/')
}
