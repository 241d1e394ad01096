import * as routes from './routes'

const pages = [
  '/',
  '/account',
  '/account/passkey',
  '/forgot-password',
  '/reference',
  '/reset-password',
  '/reset-password/done',
  '/setup',
  '/sign-in',
  '/sso/callback',
]

const names = new Map([
  ...Object.values(routes).map(({ path, name }) => [path, name] as const),
  ...pages.map((page) => [page, page] as const),
])

const patterns = [...names]
  .filter(([path]) => path.includes('{'))
  .map(
    ([path, name]) =>
      [new RegExp(`^${path.replaceAll(/\{\w+\}/g, '[^/]+')}$`), name] as const,
  )

const files = /^\/(_next\/static|brand)\/|^\/(icon\.svg|favicon\.ico|robots\.txt)$/

/** Every result of `nameRoute`. */
export const routeNames = [...new Set([...names.values(), 'file', 'unknown'])]

/**
 * Returns the name of an endpoint as in the log, the path of a page, `file`, or `unknown`.
 * `url`: the path of a request, with or without a query. Returns no part of any other
 * path, because clients choose it.
 */
export function nameRoute(url: string): string {
  const path = url.split('?', 1)[0]!.replace(/(?<=.)\/$/, '')
  if (path.startsWith(`${routes.scim.path}/`)) return routes.scim.name

  const known = names.get(path)
  if (known && !path.includes('{')) return known

  const [, name] = patterns.find(([pattern]) => pattern.test(path)) ?? []
  return name ?? (files.test(path) ? 'file' : 'unknown')
}
