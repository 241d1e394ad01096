// `npm run test:mutants`: plants each fault of list.ts in a copy of HEAD, one at a time, and checks
// that the named test fails. Prints a table; exits with 1 if a fault survives.
import { execFileSync, spawnSync } from 'node:child_process'
import { appendFileSync, constants, cpSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { project } from '../../bin/local'
import { type Mutant, mutants } from './list'

const { values: flags } = parseArgs({
  options: {
    /** Plants only the faults whose names contain one of these. */
    only: { type: 'string', multiple: true, default: [''] },
  },
})
const copy = `${project}.data/mutants/`
const timeLimitMs = 10 * 60_000

type Verdict = 'caught' | 'survived' | 'not planted' | 'does not build'

function main(): number {
  const selected = mutants.filter(({ name }) => flags.only.some((part) => name.includes(part)))
  console.error('Copying HEAD …')
  rmSync(copy, { recursive: true, force: true })
  execFileSync('git', ['clone', '--quiet', project, copy])
  for (const folder of ['node_modules', 'prisma/client'])
    cpSync(project + folder, copy + folder, {
      recursive: true,
      mode: constants.COPYFILE_FICLONE,
      verbatimSymlinks: true,
    })
  // Types have no part in this, and their check takes half of a build.
  appendFileSync(`${copy}next.config.mjs`, '\nconfig.typescript = { ignoreBuildErrors: true }\n')
  build()
  const verdicts = selected.map((mutant, index) => {
    console.error(`${index + 1} of ${selected.length}: ${mutant.name} …`)
    const verdict = plant(mutant)
    console.error(`  ${verdict}`)
    return verdict
  })
  console.log('| fault | file | test | |\n|---|---|---|---|')
  for (const [index, { name, file, tests, title }] of selected.entries())
    console.log(`| ${name} | ${file} | ${tests}: ${title} | ${verdicts[index]} |`)
  const left = verdicts.filter((verdict) => verdict !== 'caught').length
  console.log(`\n${verdicts.length - left} of ${verdicts.length} faults were caught.`)
  return left === 0 ? 0 : 1
}

/** Plants one fault, runs its test, and restores the file. */
function plant({ file, find, replace, tests, title, project: kind }: Mutant): Verdict {
  const original = readFileSync(copy + file, 'utf8')
  if (original.split(find).length !== 2) return 'not planted' // missing, or in several places
  writeFileSync(
    copy + file,
    original.replace(find, () => replace),
  )
  // Next.js does not build these, or the test does not need it; the build of the original is used.
  const isBuilt = kind !== 'unit' && !/^(bin|docs|e2e|prisma\/migrations)\//.test(file)
  try {
    if (isBuilt && !build()) return 'does not build'
    const run = playwright(tests, kind, title)
    if (run.status === 0) return 'survived'
    return /^\s+\d+ failed/m.test(String(run.stdout)) ? 'caught' : 'not planted'
  } finally {
    writeFileSync(copy + file, original)
    if (isBuilt) rmSync(`${copy}.next`, { recursive: true, force: true })
  }
}

function playwright(tests: string, kind: string, title: string) {
  if (!existsSync(`${copy}.next`)) build()
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
