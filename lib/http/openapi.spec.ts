import { execFileSync } from 'node:child_process'
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
  const printed = execFileSync(process.execPath, [linter, ...lint], {
    env: { ...process.env, ...quiet },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  rmSync(folder, { recursive: true })
  expect(JSON.parse(printed.toString().replace(/^[^{]*/, '')).totals).toEqual({
    errors: 0,
    warnings: 0,
    ignored: 0,
  })
})

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
