import { execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, posix } from 'node:path'
import { expect, test } from 'vitest'
import { project } from '../bin/dev/local'
import { isIgnoredByImage } from '../e2e/support/documents/docker-ignore'
import { anchors, documents, files, prose } from '../e2e/support/documents/documents'
import { checks } from '../lib/contract/checks'
import { settingNames } from '../lib/settings/env'

const read = (path: string) => readFileSync(project + path, 'utf8')
const manifest = JSON.parse(read('package.json')) as { scripts: Record<string, string> }
const environment = read('.env.example')
const settings = settingNames()

/** The inline code of a document. */
const inlineCode = (content: string) =>
  [...prose(content).matchAll(/`([^`\n]+)`/g)].map(([, text]) => text!)

/**
 * Top-level files and folders. Inline code that starts with one of them is a path of this
 * repository.
 */
const roots = [...new Set(files.map((file) => file.split('/')[0]!))]

test('every command in a document exists', () => {
  const found = new Set<string>()
  for (const [document, content] of Object.entries({
    ...documents,
    '.env.example': environment,
  })) {
    for (const [, script] of content.matchAll(
      /\bnpm run (?:--silent )?([a-z][a-z:-]*)/g,
    )) {
      found.add(script!)
      expect(manifest.scripts, `${document}: npm run ${script}`).toHaveProperty([script!])
    }
  }
  expect([...found]).toEqual(
    expect.arrayContaining(['dev', 'issue', 'test:vercel', 'vercel-build']),
  )
})

test('every path in a document exists', () => {
  const found = new Set<string>()
  for (const [document, content] of Object.entries(documents)) {
    for (const path of inlineCode(content).filter(isOwnPath)) {
      found.add(path)
      expect(
        files.includes(path) ||
          files.some((file) => file.startsWith(`${path.replace(/\/$/, '')}/`)),
        `${document}: ${path}`,
      ).toBe(true)
    }
  }
  expect([...found]).toEqual(
    expect.arrayContaining([
      'lib/contract/lifetimes.ts',
      'lib/code/exchange.ts',
      'vercel.json',
    ]),
  )

  // Excludes paths that have no file in git: module names without an extension, generated folders,
  // and the folder of a brand.
  function isOwnPath(text: string): boolean {
    if (!/^[\w.@[\]/-]+$/.test(text) || !roots.includes(text.split('/')[0]!)) return false
    if (/^(prisma\/client|public\/brand)\/?$/.test(text)) return false
    if (text === 'bench' || text === 'prisma') return true
    return !existsSync(`${project}${text}.ts`)
  }
})

test('every setting in a document exists', () => {
  const found = new Set<string>()
  const example = ['login', 'server']
    .map((name) => read(`examples/dashboard/${name}.js`))
    .join('')
  const known = new Set((environment + example).match(/\b[A-Z][A-Z_]+\b/g))
  const ofPlatforms =
    /^(OTEL|VERCEL|KV)_|^(ERR_TLS|SELF_SIGNED|UNABLE_TO)_|^(NODE_(ENV|EXTRA_CA_CERTS|COMPILE_CACHE)|DATABASE_URL_UNPOOLED|CHROMIUM_PATH)$/
  const removed = ['DASHBOARD_CALLBACK_URLS'] // which the changelog names
  const codes = new Set(read('lib/contract/errors.ts').match(/\b[A-Z]+_[A-Z_]+\b/g))
  for (const [document, content] of Object.entries(documents)) {
    const code = inlineCode(content).join('\n')
    const named = [...code.matchAll(/(?<![\w/.-])[A-Z]+(?:_[A-Z]+)+\b/g)].map(
      ([name]) => name,
    )
    const set = [...content.matchAll(/(?<![\w-])([A-Z]+(?:_[A-Z]+)+)=/g)].map(
      ([, name]) => name!,
    )
    for (const name of [...named, ...set].filter(
      (name) => !ofPlatforms.test(name) && !codes.has(name) && !removed.includes(name),
    )) {
      found.add(name)
      expect([...known], `${document}: ${name}`).toContain(name)
    }
  }
  expect([...found]).toEqual(
    expect.arrayContaining(['DATABASE_POOLED', 'SESSION_SIGNING_KEYS', 'CRON_SECRET']),
  )
})

test('.env.example has exactly the settings that the app reads', () => {
  expect(settings).toContain('PUBLIC_URL')
  const explained = [...environment.matchAll(/^#?([A-Z][A-Z_]+)=/gm)].map(
    ([, name]) => name!,
  )
  expect(explained).toEqual(
    expect.arrayContaining(settings.filter((name) => name !== 'VERCEL')),
  )
  // Not read by lib/settings/env.ts.
  const others = explained.filter((name) => !settings.includes(name)).sort()
  expect(others.join(' ')).toBe('DRAIN_MS HOST NO_PROXY OTEL_EXPORTER_OTLP_ENDPOINT PORT')
})

test('.env.example sets none of the settings that `npm run dev` sets', () => {
  const code = read('bin/dev/dev.ts') + read('bin/dev/examples.ts')
  const local = [...code.matchAll(/process\.env\.([A-Z_]+) (?:\|\|)?= /g)].map(
    ([, name]) => name!,
  )
  expect(local).toEqual(expect.arrayContaining(['DASHBOARD_URL']))
  const active = [...environment.matchAll(/^([A-Z_]+)=/gm)].map(([, name]) => name!)
  expect(active.filter((name) => local.includes(name))).toEqual([])
})

test('the env file loader reads every value of .env.example exactly as written', () => {
  const folder = mkdtempSync(join(tmpdir(), 'env-'))
  const lines = [...environment.matchAll(/^#?([A-Z][A-Z_]+)=(.*)$/gm)].map(
    ([, name, value]) => [name!, value!] as const,
  )
  const [example] = environment.match(/NAME=".*"/)!
  writeFileSync(
    join(folder, '.env'),
    [...lines.map((line) => line.join('=')), example].join('\n'),
  )
  const script = `
    require('@next/env').loadEnvConfig(process.argv[1], false, { info() {}, error: console.error })
    console.log(JSON.stringify(process.env))`
  try {
    const { PATH } = process.env
    const printed = execFileSync(process.execPath, ['--eval', script, folder], {
      cwd: project,
      env: { PATH, HOME: '/home' } as unknown as NodeJS.ProcessEnv,
    })
    const loaded = JSON.parse(printed.toString())
    for (const [name, value] of lines)
      expect(loaded[name], name).toBe(value.replace(/^"(.*)"$/, '$1'))
    expect(loaded.NAME).toBe('#1 for 5$HOME')
  } finally {
    rmSync(folder, { recursive: true })
  }
})

const envFiles = [
  '.env',
  '.env.local',
  '.env.production',
  '.env.production.local',
  '.env.staging',
  'deploy/.env',
  'examples/dashboard/.env.production',
]

test('git ignores every env file but .env.example', () => {
  const printed = execFileSync(
    'git',
    ['check-ignore', '--no-index', ...envFiles, '.env.example'],
    { cwd: project },
  )
  expect(printed.toString().trim().split('\n')).toEqual(envFiles)
})

test('the build of the image ignores every env file but .env.example', () => {
  const others = ['.env.example', 'deploy/build.sh', 'lib/settings/env.ts']
  expect([...envFiles, ...others].filter(isIgnoredByImage)).toEqual(envFiles)
})

test('the code logs every warning that docs/operate.md lists', () => {
  const sources = files
    .filter((file) => /^(instrumentation|(app|bin|lib)\/.*)\.(ts|tsx|mjs)$/.test(file))
    .map(read)
  const warnings = [
    ...documents['docs/operate.md']!.matchAll(/\| `([^`]+)` \(`warn`\)/g),
  ].map(([, text]) => text!)
  expect(warnings.length).toBeGreaterThan(3)
  for (const warning of warnings)
    expect(
      sources.some((source) => source.includes(warning)),
      warning,
    ).toBe(true)
})

test('docs/sso.md lists exactly the sign-in checks in the code', () => {
  const [, troubleshooting] = documents['docs/sso.md']!.split('## Troubleshooting')
  const cells = [...troubleshooting!.matchAll(/^\| (`[^|]+`) \|/gm)].map(
    ([, cell]) => cell!,
  )
  const documented = cells
    .flatMap((cell) => cell.split(', ').map((code) => code.slice(1, -1)))
    .slice(1) // without the heading
  const sources = files.filter((file) =>
    /^(lib\/sso|app\/api\/auth\/sso)\/(?!.*\.spec).*\.ts$/.test(file),
  )
  const words = new Set(
    sources.flatMap((file) => {
      const withoutTypes = read(file).replace(/^ *\| '.*$/gm, '')
      return [...withoutTypes.matchAll(/'([a-z0-9_]+)'/g)].map(([, word]) => word!)
    }),
  )
  expect(documented.filter((code) => !words.has(code))).toEqual([])
  const prefix =
    /^(state|provider|discovery|token|response|id_token|user_info|saml|email|identity|subject)_/
  const attribute = 'email_address' // a SAML attribute, not a check
  expect(
    [...words].filter(
      (word) => prefix.test(word) && ![...documented, attribute].includes(word),
    ),
  ).toEqual([])
})

test('docs/operate.md lists exactly the checks of rejected requests, and the code uses each', () => {
  const [, table] = documents['docs/operate.md']!.match(
    /^### Why a request was rejected\n(.*?)^## /ms,
  )!
  const cells = [...table!.matchAll(/^\| (`[^|]+`) \|/gm)].slice(1) // without the heading
  const documented = cells.flatMap(([, cell]) =>
    cell!.split(', ').map((check) => check.slice(1, -1)),
  )
  expect(documented.toSorted()).toEqual([...checks].toSorted())

  const sources = files.filter((file) =>
    /^(lib|app)\/(?!contract\/checks|.*\.spec).*\.tsx?$/.test(file),
  )
  const code = sources.map(read).join('\n')
  expect(checks.filter((check) => !code.includes(`'${check}'`))).toEqual([])
})

test('every relative link points to a file, and its anchor to a heading', () => {
  let found = 0
  for (const [document, content] of Object.entries(documents)) {
    const links = [
      ...prose(content).matchAll(/\]\(([^)\s]+)\)|(?:src|href)="([^"]+)"/g),
    ].map(([, link, source]) => link ?? source!)
    for (const link of links.filter((link) => !/^[a-z]+:/.test(link))) {
      const [path, anchor] = link.split('#') as [string, string?]
      const target = path ? posix.join(posix.dirname(document), path) : document
      expect(files, `${document}: ${link}`).toContain(target)
      if (anchor !== undefined)
        expect(anchors(documents[target]!), `${document}: ${link}`).toContain(anchor)
      found++
    }
  }
  expect(found).toBeGreaterThan(40)
})

test('the README has at most 120 lines and 900 words', () => {
  const readme = documents['README.md']!
  expect(readme.trimEnd().split('\n').length).toBeLessThanOrEqual(120)
  expect(readme.split(/\s+/).filter(Boolean).length).toBeLessThanOrEqual(900)
})
