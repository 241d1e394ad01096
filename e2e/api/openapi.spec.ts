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
