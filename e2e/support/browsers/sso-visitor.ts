import { randomUUID } from 'node:crypto'
import { type ApiResponse, exchangePath, expect, postTo, type Sql } from '../fixtures'
import { keepSecret, newAddress } from '../secrets'
import type { Server } from '../servers/server'

/**
 * A browser without a screen. It follows one redirect at a time, and stores our cookies.
 */
export class Visitor {
  readonly cookies = new Map<string, string>()
  /** The ID of the last request. It identifies the log line of this request. */
  requestId = ''
  private readonly address = newAddress()

  constructor(readonly url: string) {}

  /**
   * Requests one of our URLs as this browser. Posts a form as another site does, without
   * cookies.
   */
  request(path: string, form?: URLSearchParams, withCookies = !form): Promise<Response> {
    this.requestId = randomUUID()
    return fetch(new URL(path, this.url), {
      redirect: 'manual',
      headers: {
        'X-Request-Id': this.requestId,
        'X-Forwarded-For': this.address,
        ...(withCookies && {
          Cookie: [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; '),
        }),
      },
      ...(form && { method: 'POST', body: form }),
    })
  }

  /** Opens one of our URLs or posts a form to it. Returns the URL of the redirect. */
  async open(path: string, form?: URLSearchParams, withCookies?: boolean): Promise<URL> {
    const response = await this.request(path, form, withCookies)
    for (const cookie of response.headers.getSetCookie()) {
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(cookie)!
      this.cookies.set(name!, keepSecret(value!))
    }
    const location = response.headers.get('location')
    if (response.status !== 303 || !location)
      throw new Error(`${path.split('?')[0]} responded ${response.status}`)
    return keepSecrets(new URL(location, this.url))
  }

  /** Starts a sign-in, and returns the URL at the provider. */
  start(slug: string, next?: string): Promise<URL> {
    return this.open(
      `/api/auth/sso/${slug}/start${next === undefined ? '' : `?next=${encodeURIComponent(next)}`}`,
    )
  }

  /**
   * Opens the provider's URL as a browser does. Returns the URL of the redirect to our
   * callback.
   */
  async authorize(authorization: URL): Promise<URL> {
    const response = await fetch(authorization, { redirect: 'manual' })
    return keepSecrets(new URL(response.headers.get('location')!))
  }

  /**
   * Opens the callback, to which the provider redirects. Returns the URL of the landing
   * page.
   */
  comeBack({ pathname, search }: URL): Promise<URL> {
    return this.open(pathname + search)
  }

  /** Signs in until the landing page. Returns its URL. */
  async signIn(slug: string, next?: string): Promise<URL> {
    const authorization = await this.start(slug, next)
    if (authorization.pathname === '/sso/callback') return authorization // the start was rejected immediately
    return this.comeBack(await this.authorize(authorization))
  }

  /** Exchanges the code of a landing page, as this browser. */
  exchange({ searchParams }: URL): Promise<ApiResponse> {
    const headers = {
      'X-Forwarded-For': newAddress(),
      Cookie: `browser=${this.cookies.get('browser')}`,
    }
    return postTo(this.url + exchangePath, { code: searchParams.get('code') }, headers)
  }
}

/**
 * Returns the error in the URL of a landing page. `again` is set if a sign-in can't be
 * continued and starts again.
 */
export const errorOf = ({ searchParams }: URL) =>
  searchParams.has('again') ? 'attempt_invalid' : searchParams.get('error')

type Line = {
  connection?: string
  check?: string
  advice?: string
  userId?: string
  try?: true
  status: number
  route: string
  code?: string
}

/** Returns the log line of the last request of a visitor. */
export async function logLine(
  { requestId }: Visitor,
  { logged }: Pick<Server, 'logged'>,
): Promise<Line> {
  // Warnings of the request have its ID too.
  const lines = () => logged(requestId).filter(({ status }) => status)
  await expect.poll(() => lines().length, { intervals: [10] }).toBeGreaterThan(0)
  return lines()[0] as Line
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
  return sql(
    'SELECT 1 FROM exchange_codes JOIN connections ON connections.id = connection_id WHERE slug = $1',
    [slug],
  )
}

/** Makes all unfinished sign-ins with a connection expire. */
export function expireAttempts(sql: Sql, slug: string) {
  const ofConnection = 'connection_id = (SELECT id FROM connections WHERE slug = $1)'
  return sql(`UPDATE sso_attempts SET expires_at = now() WHERE ${ofConnection}`, [slug])
}

/** Records the secrets in a URL, but not the values that a test added. */
function keepSecrets(url: URL): URL {
  for (const name of ['code', 'state', 'nonce', 'RelayState'])
    for (const value of url.searchParams.getAll(name))
      if (/^[\w-]{43}$/.test(value)) keepSecret(value)
  return url
}
