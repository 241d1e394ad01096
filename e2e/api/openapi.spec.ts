import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { project } from '../../bin/local'
import { openApiDocument } from '../../lib/http/openapi'
import { expect, test } from '../support/fixtures'

test('the document is served to any origin, and can be cached for an hour', async ({ url }) => {
  const response = await fetch(`${url}/openapi.json`)
  expect(await response.json()).toEqual(JSON.parse(JSON.stringify(openApiDocument)))
  expect([response.status, response.headers.get('content-type')]).toEqual([200, 'application/json'])
  expect(response.headers.get('cache-control')).toBe('public, max-age=3600')
  expect(response.headers.get('access-control-allow-origin')).toBe('*')
  expect(response.headers.get('x-content-type-options')).toBe('nosniff')
})

test('the document and its examples pass the linter', () => {
  const file = test.info().outputPath('openapi.json')
  writeFileSync(file, JSON.stringify(openApiDocument))
  const quiet = { REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' }
  const lint = ['lint', file, '--extends', 'recommended-strict', '--format', 'json']
  const printed = execFileSync(process.execPath, [`${project}node_modules/@redocly/cli/bin/cli.js`, ...lint], {
    env: { ...process.env, ...quiet },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  expect(JSON.parse(printed.toString().replace(/^[^{]*/, '')).totals).toEqual({ errors: 0, warnings: 0, ignored: 0 })
})
