import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { operations } from '../contract/operations'
import { describeErrors, openApiDocument } from './openapi'

const linter = join(
  dirname(createRequire(import.meta.url).resolve('@redocly/cli/package.json')),
  'bin/cli.js',
)

test('the OpenAPI document and its examples pass the linter', () => {
  const folder = mkdtempSync(join(tmpdir(), 'openapi-'))
  const file = join(folder, 'openapi.json')
  writeFileSync(file, JSON.stringify(openApiDocument))
  const quiet = { REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' }
  const lint = ['lint', file, '--extends', 'recommended-strict', '--format', 'json']
  const { stdout, stderr } = spawnSync(process.execPath, [linter, ...lint], {
    env: { ...process.env, ...quiet },
    encoding: 'utf8',
  })
  rmSync(folder, { recursive: true })

  const report = stdout.indexOf('{')
  if (report < 0) throw new Error(`The linter printed no report: ${stderr}`)

  const { totals, problems } = JSON.parse(stdout.slice(report))
  expect(problems.map(describeProblem)).toEqual([])
  expect(totals).toEqual({ errors: 0, warnings: 0, ignored: 0 })
})

type Problem = { ruleId: string; message: string; location: { pointer?: string }[] }

function describeProblem({ ruleId, message, location }: Problem): string {
  return `${location[0]?.pointer}: ${message} (${ruleId})`
}

test('an error response describes all codes with its status', () => {
  const described = describeErrors({
    ...operations.signIn,
    errors: ['SECOND_FACTOR_REQUIRED', 'SECOND_FACTOR_LOCKED'],
  })

  expect(described[403]).toMatchObject({
    description: expect.stringMatching(/The password is right.*codes in a row/s),
    headers: { 'Set-Cookie': { required: false }, 'X-Request-Id': {} },
    content: {
      'application/json': {
        schema: {
          oneOf: [
            { $ref: '#/components/schemas/SECOND_FACTOR_REQUIRED' },
            { $ref: '#/components/schemas/SECOND_FACTOR_LOCKED' },
          ],
        },
        examples: {
          SECOND_FACTOR_REQUIRED: { value: { code: 'SECOND_FACTOR_REQUIRED' } },
          SECOND_FACTOR_LOCKED: { value: { code: 'SECOND_FACTOR_LOCKED' } },
        },
      },
    },
  })
})

test('the document accepts every ID that PostgreSQL accepts, such as IDs of imported users', () => {
  const patterns = [
    ...JSON.stringify(openApiDocument).matchAll(/"format":"uuid","pattern":(".*?")/g),
  ].map(([, pattern]) => new RegExp(JSON.parse(pattern!)))

  expect(patterns.length).toBeGreaterThan(2)
  for (const pattern of patterns)
    expect('11111111-1111-1111-1111-111111111111').toMatch(pattern)
})
