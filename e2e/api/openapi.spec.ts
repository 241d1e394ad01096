import { errors } from '../../lib/contract/errors'
import { listErrors, type Operation, operations } from '../../lib/contract/operations'
import { openApiDocument } from '../../lib/http/openapi'
import { violationsOf } from '../support/browsers/page-checks'
import { documentedFetch } from '../support/documents/documented'
import { expect, test } from '../support/fixtures'

test('pages of every origin can read and cache the OpenAPI document and the JWKS', async ({
  url,
}) => {
  const [document, jwks] = [
    await fetch(`${url}/openapi.json`),
    await documentedFetch(`${url}/.well-known/jwks.json`),
  ]
  expect(await document.json()).toEqual(JSON.parse(JSON.stringify(openApiDocument)))
  expect((await jwks.json()).keys).toHaveLength(1)
  const names = [
    'content-type',
    'cache-control',
    'access-control-allow-origin',
    'x-content-type-options',
  ]
  const headersOf = ({ headers }: Response) => names.map((name) => headers.get(name))
  expect(headersOf(document)).toEqual([
    'application/json',
    'public, max-age=3600',
    '*',
    'nosniff',
  ])
  expect(headersOf(jwks)).toEqual([
    'application/jwk-set+json',
    'public, max-age=300',
    '*',
    'nosniff',
  ])
})

test('the API reference describes each operation with its fields, errors and headers', async ({
  url,
}) => {
  const html = await (
    await fetch(`${url}/reference`, { headers: { 'Accept-Language': 'ar' } })
  ).text()
  expect(html).toMatch(/^<!doctype html>\n<html lang="en" dir="ltr">/)
  expect(html).not.toMatch(/<script|undefined|\[object|`/)
  expect(html, 'comments of the styles').not.toContain('/*')
  expect(html).toContain(
    '<code>sessions[].signedInWith.method</code> string, <code>password | passkey | sso | code | operator</code></dt>',
  )
  expect(html).toContain(
    '<code>refreshToken</code> string, <code>^[\\w-]{48}$</code>, optional</dt>',
  )
  const [, usualErrors = ''] = html.split('<h2>Errors of many operations</h2>')
  for (const [id, operation] of Object.entries<Operation>(operations)) {
    const [, section = ''] =
      html.match(new RegExp(`<section id="${id}">(.*?)</section>`, 's')) ?? []
    const link = `<a href="#${id}"><code>${operation.method} ${operation.path}</code></a>`
    for (const part of [html.split('<section')[0], section]) expect(part).toContain(link)
    for (const field of Object.keys({
      ...operation.requestExample,
      ...operation.responseExample,
    }))
      expect(section).toMatch(
        new RegExp(`<dt><code>${field}</code> (string|boolean|integer|array of|object)`),
      )
    for (const code of listErrors(operation)) {
      const isUsual = section.includes(`<a href="#${code}">`)
      const described = isUsual ? usualErrors : section
      expect(described, `${id} ${code}`).toMatch(
        new RegExp(
          `<dt><code>${errors[code].status}</code>.* <code>${code}</code>.*</dt><dd>\\w`,
        ),
      )
      expect(isUsual && operation.errors?.includes(code), `${id} ${code}`).not.toBe(true)
    }
  }
  expect(usualErrors).toMatch(
    /<div id="RATE_LIMITED">.*<br>Header <code>Retry-After<\/code>: Seconds/,
  )
})

test('the API reference begins with three short sections, and groups the operations', async ({
  url,
}) => {
  const html = await (await fetch(`${url}/reference`)).text()
  const [, columns = ''] = html.match(/<div class="columns">(.*?)<nav/s) ?? []
  const sections = columns.split('<h2>').slice(1)
  expect(sections).toHaveLength(3)
  for (const section of sections)
    expect(section.replace(/<[^>]*>/g, ' ').split(/\s+/).length).toBeLessThan(60)

  const [, nav = ''] = html.match(/<nav[^>]*>(.*?)<\/nav>/s) ?? []
  const groups = nav.split('<h2>').slice(1)
  for (const [id, { tag }] of Object.entries<Operation>(operations)) {
    const group = groups.filter((each) => each.includes(`href="#${id}"`))
    expect(
      group.map((each) => each.split('<')[0]),
      id,
    ).toEqual([tag])
  }
})

test('the API reference is readable on a phone, in the light and the dark scheme', async ({
  page,
}) => {
  await page.setViewportSize({ width: 320, height: 640 })
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme })
    await page.goto('/reference#signIn')
    await expect(
      page.getByRole('link', { name: 'POST /api/auth/sign-in', exact: true }).last(),
    ).toBeInViewport()
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(320)
    expect(await violationsOf(page, {}, ['nav', '#signIn'])).toEqual([])
  }
})
