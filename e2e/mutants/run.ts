// `npm run test:mutants`: plants each fault of list.ts in a copy of HEAD, one at a time, and checks
// that the named test fails. Prints a table; exits with 1 if a fault survives.
import { execFileSync, spawnSync } from 'node:child_process'
import {
  appendFileSync,
  constants,
  cpSync,
  existsSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { parseArgs } from 'node:util'
import { project } from '../../bin/local'
import { type Mutant, mutants } from './list'

const { values: flags } = parseArgs({
  options: {
    /** Plants only the faults whose names contain one of these. */
    only: { type: 'string', multiple: true, default: [''] },
    /** Plants only the faults that tests of these projects catch. */
    project: { type: 'string', multiple: true, default: ['unit', 'api', 'pages', 'faults'] },
    /** Plants the second of three parts: `2/3`. */
    part: { type: 'string', default: '1/1' },
  },
})
const [part, parts] = flags.part.split('/').map(Number) as [number, number]
const copy = `${project}.data/mutants${parts === 1 ? '' : `-${part}`}/`
const timeLimitMs = 10 * 60_000

type Verdict = 'caught' | 'survived' | 'not planted' | 'does not build'

function main(): number {
  const selected = mutants
    .filter(({ name, project: kind }) => flags.project.includes(kind) && flags.only.some((text) => name.includes(text)))
    .toSorted((a, b) => Number(isBuilt(a)) - Number(isBuilt(b))) // those that share the build of the original first
    .filter((_, index) => index % parts === part - 1)
  if (selected.length === 0) throw new Error('There is no such fault, or no such part.')
  console.error('Copying HEAD …')
  rmSync(copy, { recursive: true, force: true })
  execFileSync('git', ['clone', '--quiet', project, copy])
  for (const folder of ['node_modules', 'prisma/client'])
    cpSync(project + folder, copy + folder, {
      recursive: true,
      mode: constants.COPYFILE_FICLONE,
      verbatimSymlinks: true,
    })
  // Types have no part in this. Without their check, and with what the builds before have compiled, a
  // build takes a quarter of the processor's time.
  appendFileSync(
    `${copy}next.config.mjs`,
    '\nconfig.typescript = { ignoreBuildErrors: true }\nconfig.experimental.turbopackFileSystemCacheForBuild = true\n',
  )
  build()
  console.log('| fault | file | test | |\n|---|---|---|---|')
  const verdicts = selected.map((mutant, index) => {
    const { name, file, tests, title } = mutant
    console.error(`${index + 1} of ${selected.length}: ${name} …`)
    const verdict = plant(mutant)
    console.log(`| ${name} | ${file} | ${tests}: ${title} | ${verdict} |`)
    return verdict
  })
  const left = verdicts.filter((verdict) => verdict !== 'caught').length
  console.log(`\n${verdicts.length - left} of ${verdicts.length} faults were caught.`)
  return left === 0 ? 0 : 1
}

// Next.js does not build these, or the test does not need it; the build of the original is used.
function isBuilt({ file, project: kind }: Mutant): boolean {
  return kind !== 'unit' && !/^(bin|docs|e2e|prisma\/migrations)\//.test(file)
}

/** Plants one fault, runs its test, and restores the file. */
function plant(mutant: Mutant): Verdict {
  const { file, find, replace, tests, title, project: kind } = mutant
  const original = readFileSync(copy + file, 'utf8')
  if (original.split(find).length !== 2) return 'not planted' // missing, or in several places
  writeFileSync(
    copy + file,
    original.replace(find, () => replace),
  )
  try {
    if (isBuilt(mutant) && !build()) return 'does not build'
    const run = playwright(tests, kind, title)
    if (run.status === 0) return 'survived'
    return /^\s+\d+ failed/m.test(String(run.stdout)) ? 'caught' : 'not planted'
  } finally {
    writeFileSync(copy + file, original)
    if (isBuilt(mutant)) removeBuild()
  }
}

/** Removes a build, but not the compiler's cache. */
function removeBuild(): void {
  for (const part of readdirSync(`${copy}.next`))
    if (part !== 'cache') rmSync(`${copy}.next/${part}`, { recursive: true })
}

function playwright(tests: string, kind: string, title: string) {
  if (!existsSync(`${copy}.next/BUILD_ID`)) build()
  const parameters = ['test', '--config', 'e2e/playwright.config.ts', tests, '--project', kind, '--workers', '1']
  return spawnSync(process.execPath, [`${copy}node_modules/playwright/cli.js`, ...parameters, '-g', title], {
    cwd: copy,
    env: { ...process.env, NO_BUILD: 'true' },
    timeout: timeLimitMs,
  })
}

function build(): boolean {
  const { status } = spawnSync(process.execPath, [`${copy}node_modules/next/dist/bin/next`, 'build'], {
    cwd: copy,
    env: { ...process.env, NODE_ENV: 'production', PUBLIC_URL: 'http://localhost' },
  })
  return status === 0
}

process.exit(main())
