import { expect, test } from 'vitest'
import { files } from '../../e2e/support/documents/documents'
import { nameRoute } from './route-name'
import * as routes from './routes'

test('each page and each endpoint has a name', () => {
  const internal = ['/moved', '/api/[[...path]]'] // app/_proxy and `unknown`
  const paths = files
    .map((file) => file.match(/^app(\/.*)?\/(page\.tsx|route\.ts)$/))
    .flatMap((match) => (match ? [match[1] ?? '/'] : []))
    .filter((path) => !internal.includes(path))
  expect(paths.length).toBeGreaterThan(40)

  const unnamed = paths.filter((path) => nameRoute(path) === 'unknown')
  expect(unnamed).toEqual([])
})

test('an endpoint has its name in the log, with any connection, query or slash at the end', () => {
  expect(nameRoute(routes.exchangeSsoCode.path)).toBe('sso-exchange')
  expect(nameRoute('/api/auth/sso/acme/callback?code=x')).toBe('sso-callback')
  expect(nameRoute('/api/auth/sso/acme/acs/')).toBe('sso-acs')
  expect(nameRoute('/api/scim/v2/Users/x?count=1')).toBe('scim')
  expect(nameRoute('/reset-password/?token=x')).toBe('/reset-password')
  expect(nameRoute('/?next=/x')).toBe('/')
  expect(nameRoute('/_next/static/chunks/x.js')).toBe('file')
})

test('no other path is a name', () => {
  const others = [
    '/nowhere',
    '/api/nowhere',
    '/api/auth/sso/{connection}/nowhere',
    '/api/auth/sso/a/b/callback',
    '/api/scim/v20/Users',
    '//example.com/sign-in',
    '/constructor',
    '',
  ]
  expect(others.map(nameRoute)).toEqual(others.map(() => 'unknown'))
  expect(nameRoute('/api/auth/sso/{connection}/start')).toBe('sso-start')
})
