import { createTestUrl } from '../../../lib/sso/test-link'
import type { Sql } from '../fixtures'
import { keepSecret } from '../secrets'
import type { Visitor } from './sso-visitor'

/** Returns the path of the link that starts a test of a connection. */
export async function testPath(sql: Sql, slug: string): Promise<string> {
  const [row] = await sql('SELECT id FROM connections WHERE slug = $1', [slug])
  const { pathname, search, searchParams } = new URL(createTestUrl({ id: row!.id, slug }))
  keepSecret(searchParams.get('try')!)

  return pathname + search
}

/** Requests one of our URLs, and returns the text of the page and its cookies. */
export async function openReport(visitor: Visitor, path: string, form?: URLSearchParams) {
  const response = await visitor.request(path, form)
  const { headers, status } = response
  const html = await response.text()
  const cookies = headers.getSetCookie().map((cookie) => cookie.split(';')[0]!)

  return { status, headers, html, text: readText(html), cookies }
}

/** Returns the text of a page, with one space between the elements. */
function readText(html: string): string {
  const body = html.replace(/^.*<main>/s, '').replace(/<script.*?<\/script>/gs, '')
  return body
    .replace(/<[^>]+>/g, ' ')
    .replace(/&#(\d+);/g, (_, code) => String.fromCharCode(Number(code)))
    .replace(/\s+/g, ' ')
    .trim()
}
