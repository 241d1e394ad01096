import { randomUUID } from 'node:crypto'
import { type ApiResponse, exchangePath, expect, postTo, type Sql } from './fixtures'
import { keepSecret, newAddress } from './secrets'
import type { Server } from './server'

/** A browser without a screen: follows one redirect at a time, and keeps our cookies. */
export class Visitor {
  readonly cookies = new Map<string, string>()
  /** The ID of the last request, which finds its line in the log. */
  requestId = ''
  private readonly address = newAddress()

  constructor(readonly url: string) {}

  /** Requests a URL of ours as this browser. A form is that of another site: without cookies. */
  request(path: string, form?: URLSearchParams, withCookies = !form): Promise<Response> {
    this.requestId = randomUUID()
    return fetch(new URL(path, this.url), {
      redirect: 'manual',
      headers: {
        'X-Request-Id': this.requestId,
        'X-Forwarded-For': this.address,
        ...(withCookies && { Cookie: [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; ') }),
      },
      ...(form && { method: 'POST', body: form }),
    })
  }

  /** Opens a URL of ours, or posts a form to it, and returns where it leads. */
  async open(path: string, form?: URLSearchParams, withCookies?: boolean): Promise<URL> {
    const response = await this.request(path, form, withCookies)
    for (const cookie of response.headers.getSetCookie()) {
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(cookie)!
      this.cookies.set(name!, keepSecret(value!))
    }
    const location = response.headers.get('location')
    if (response.status !== 303 || !location) throw new Error(`${path.split('?')[0]} responded ${response.status}`)
    return keepSecrets(new URL(location, this.url))
  }

  /** Starts a sign-in, and returns the URL at the provider. */
  start(slug: string, next?: string): Promise<URL> {
    return this.open(`/api/auth/sso/${slug}/start${next === undefined ? '' : `?next=${encodeURIComponent(next)}`}`)
  }

  /** Does at the provider what a browser would do. Returns the way back to us. */
  async authorize(authorization: URL): Promise<URL> {
    const response = await fetch(authorization, { redirect: 'manual' })
    return keepSecrets(new URL(response.headers.get('location')!))
  }

  /** Opens the callback, to which the provider redirects. Returns the URL of the landing page. */
  comeBack({ pathname, search }: URL): Promise<URL> {
    return this.open(pathname + search)
  }

  /** Signs in, up to the landing page. */
  async signIn(slug: string, next?: string): Promise<URL> {
    const authorization = await this.start(slug, next)
    if (authorization.pathname === '/sso/callback') return authorization // rejected at once
    return this.comeBack(await this.authorize(authorization))
  }

  /** Exchanges the code of a landing page, as this browser. */
  exchange({ searchParams }: URL): Promise<ApiResponse> {
    const headers = { 'X-Forwarded-For': newAddress(), Cookie: `browser=${this.cookies.get('browser')}` }
    return postTo(this.url + exchangePath, { code: searchParams.get('code') }, headers)
  }
}

/** The error of a landing page. A sign-in that can't be continued begins again. */
export const errorOf = ({ searchParams }: URL) =>
  searchParams.has('again') ? 'attempt_invalid' : searchParams.get('error')

type Line = {
  connection?: string
  check?: string
  advice?: string
  userId?: string
  status: number
  route: string
  code?: string
}

/** Returns what a server logged for the last request of a visitor. */
export async function logLine({ requestId }: Visitor, { logged }: Pick<Server, 'logged'>): Promise<Line> {
  await expect.poll(() => logged(requestId).length, { intervals: [10] }).toBeGreaterThan(0)
  return logged(requestId)[0] as Line
}

/** Returns the linked users of a connection. */
export function usersOf(sql: Sql, slug: string) {
  return sql(
    `SELECT users.id, email, password_policy, issuer, subject FROM users JOIN identities ON user_id = users.id
     JOIN connections ON connections.id = connection_id WHERE slug = $1`,
    [slug],
  )
}

/** Returns the one-time codes that sign-ins with a connection have issued. */
export function codesOf(sql: Sql, slug: string) {
  return sql('SELECT 1 FROM exchange_codes JOIN connections ON connections.id = connection_id WHERE slug = $1', [slug])
}

/** Lets all sign-ins with a connection that have begun expire. */
export function expireAttempts(sql: Sql, slug: string) {
  const ofConnection = 'connection_id = (SELECT id FROM connections WHERE slug = $1)'
  return sql(`UPDATE sso_attempts SET expires_at = now() WHERE ${ofConnection}`, [slug])
}

/** Records what is secret in a URL, but not what a test put there. */
function keepSecrets(url: URL): URL {
  for (const name of ['code', 'state', 'nonce', 'RelayState'])
    for (const value of url.searchParams.getAll(name)) if (/^[\w-]{43}$/.test(value)) keepSecret(value)
  return url
}
