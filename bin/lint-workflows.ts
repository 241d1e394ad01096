// Part of `npm run check`: validates .github/workflows against GitHub's schema and the rules of
// this repository.
import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { isDeepStrictEqual } from 'node:util'
import { NoOperationTraceWriter, parseWorkflow } from '@actions/workflow-parser'
import { parse } from 'yaml'

type Step = { uses?: string; run?: string; with?: Record<string, unknown> }
type Job = {
  permissions?: unknown
  'timeout-minutes'?: number
  strategy?: { matrix?: { node?: number[] } }
  steps?: Step[]
}
type Workflow = { on: Record<string, unknown>; permissions?: unknown; jobs: Record<string, Job> }

const project = fileURLToPath(new URL('..', import.meta.url))
const folder = '.github/workflows/'
const read = (path: string) => readFileSync(project + path, 'utf8')
const parts = execFileSync(`${project}.ci/run`, ['--list'], { encoding: 'utf8' }).trim().split('\n')
const nodeMajors = [...JSON.parse(read('package.json')).engines.node.matchAll(/(?:\^|>=)(\d+)/g)].map(([, major]) =>
  Number(major),
)

const called = new Set<string>()
const problems = readdirSync(project + folder).flatMap((name) =>
  lint(folder + name).map((problem) => `${folder}${name}: ${problem}`),
)
if (problems.length === 0)
  problems.push(...parts.filter((part) => !called.has(part)).map((part) => `no job runs \`.ci/run ${part}\``))
if (!nodeMajors.includes(Number(read('.nvmrc'))))
  problems.push(`.nvmrc must be one of the Node versions in package.json: ${nodeMajors}`)

for (const problem of problems) console.error(problem)
if (problems.length > 0) process.exit(1)

function lint(path: string): string[] {
  const content = read(path)
  const { context } = parseWorkflow({ name: path, content }, new NoOperationTraceWriter())
  const invalid = context.errors.getErrors().map(({ message }) => message)
  if (invalid.length > 0) return invalid

  const workflow: Workflow = parse(content)
  const found = actionProblems(content)
  if (!isDeepStrictEqual(workflow.permissions, {})) found.push('`permissions: {}` is missing at the top')
  if (/\b(pull_request_target|workflow_run)\b/.test(JSON.stringify(workflow.on)))
    found.push('this trigger exposes secrets to the code of a pull request')
  for (const [name, job] of Object.entries(workflow.jobs))
    found.push(...jobProblems(job).map((problem) => `job ${name}: ${problem}`))
  return found
}

/**
 * A tag can be moved to different code; a commit can't. The comment names the release, for readers
 * and for Dependabot.
 */
function actionProblems(content: string): string[] {
  const lines = content.split('\n').filter((line) => /^[\s-]*uses:/.test(line))
  const pinned = /uses: [\w.-]+\/[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/
  return lines
    .filter((line) => !pinned.test(line))
    .map((line) => `pin a commit and name its release in a comment (\`@SHA # vX.Y.Z\`): ${line.trim()}`)
}

function jobProblems(job: Job): string[] {
  const found: string[] = []
  if (!isDeepStrictEqual(job.permissions, { contents: 'read' }))
    found.push('permissions must be exactly `contents: read`')
  if (!job['timeout-minutes']) found.push('`timeout-minutes` is missing')
  const versions = job.strategy?.matrix?.node
  const runsTests = job.steps?.some(({ run }) => run?.includes('.ci/run test'))
  if (runsTests && !isDeepStrictEqual(versions, nodeMajors))
    found.push(`the matrix must list Node ${nodeMajors}, as in package.json`)
  for (const step of job.steps ?? []) found.push(...stepProblems(step))
  return found
}

function stepProblems({ uses, run = '', with: inputs }: Step): string[] {
  const found: string[] = []
  if (uses?.startsWith('actions/checkout@') && inputs?.['persist-credentials'] !== false)
    found.push('`persist-credentials: false` is missing')
  if (run.includes('${{')) found.push(`an expression in a script allows code injection: ${run}`)
  if (/\b(npm|npx|node)\b/.test(run)) found.push(`move this command into .ci/run: ${run}`)
  for (const [, list = ''] of run.matchAll(/\.ci\/run\b(.*)/g)) {
    const named = list.trim() ? list.trim().split(/\s+/) : parts
    for (const part of named) {
      called.add(part)
      if (!parts.includes(part)) found.push(`.ci/run has no part \`${part}\``)
    }
  }
  return found
}
