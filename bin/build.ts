// `npm run build`: builds the app and the production folder, which has the server and the
// commands in JavaScript.
import { spawnSync } from 'node:child_process'
import { cpSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname } from 'node:path'
import { build, type Plugin } from 'esbuild'
import { bundleNext } from './bundle-next'

const commands = [
  'clean-up',
  'clients',
  'connections',
  'events',
  'issue',
  'keys',
  'mail',
  'migrate',
  'users',
  'widgets',
]
const resolve = createRequire(import.meta.url).resolve
const engine = '@prisma/schema-engine-wasm'
const { status } = spawnSync(process.execPath, [resolve('next/dist/bin/next'), 'build'], {
  stdio: 'inherit',
})
if (status !== 0) process.exit(1)

// In an npm workspace, Next.js puts the app into a subfolder of `standalone`.
const { relativeAppDir } = JSON.parse(
  readFileSync('.next/required-server-files.json', 'utf8'),
)
const folder = `.next/standalone/${relativeAppDir}/`
rmSync(`${folder}server.js`) // the server that Next.js generated
// Next.js copies env files. Their secrets must stay on this machine.
for (const file of readdirSync(folder))
  if (file.startsWith('.env') && file !== '.env.example') rmSync(folder + file)
for (const part of [
  '.next/static',
  'public',
  'prisma/schema.prisma',
  'prisma/migrations',
])
  cpSync(part, folder + part, { recursive: true })
cpSync(dirname(resolve(engine)), `${folder}node_modules/${engine}`, { recursive: true })

const banner = `import nodeModule from 'node:module'
const require = nodeModule.createRequire(import.meta.url) // for packages in CommonJS
process.env.NODE_ENV = 'production'`
async function bundle(
  names: string[],
  external: string[],
  plugins: Plugin[] = [],
): Promise<void> {
  await build({
    plugins,
    entryPoints: names.map((name) => `bin/${name}.ts`),
    outdir: `${folder}bin`,
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node20',
    // packages that Next.js has copied, and Prisma's engine, which reads a file from its
    // folder
    external,
    define: { 'process.env.NODE_ENV': '"production"' },
    banner: { js: banner },
    logLevel: 'warning',
  })
}
await bundle(['server'], ['@next/env'], [await bundleNext()])
await bundle(commands, ['@next/env', 'bcrypt', 'pg', 'pino', engine])

const { name, version, type, engines } = JSON.parse(readFileSync('package.json', 'utf8'))
const scripts = Object.fromEntries(
  commands.map((command) => [command, `node bin/${command}.js`]),
)
const manifest = {
  name,
  version,
  private: true,
  type,
  engines,
  scripts: { start: 'node bin/server.js', ...scripts },
}
writeFileSync(`${folder}package.json`, `${JSON.stringify(manifest, null, 2)}\n`)
