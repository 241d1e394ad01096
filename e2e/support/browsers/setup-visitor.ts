import { randomBytes } from 'node:crypto'
import * as routes from '../../../lib/contract/routes'
import { type Invitation, invite } from '../../../lib/sso/setup/invite'
import type { TestServer } from '../fixtures'
import { keepSecret, newAddress } from '../secrets'
import { Visitor } from './sso-visitor'

/** The response to a request of the page /setup. */
export type SetupResponse = { status: number; body: any }

/**
 * Makes a setup link, by default for a new draft. Returns its slug, domain and secret. The
 * URL of the link is at the server without settings.
 */
export async function newSetupLink(more: Partial<Invitation> = {}) {
  const slug = more.slug ?? `setup-${randomBytes(6).toString('hex')}`
  const domain = `${slug}.example.org`
  const { url } = await invite({
    slug,
    domains: [domain],
    mayActivate: false,
    days: 7,
    startOver: false,
    ...more,
  })
  const secret = keepSecret(new URL(url).hash.slice(1))

  return { slug, domain, secret, url }
}

/** The holder of a setup link, in a browser without a screen. */
export class Administrator extends Visitor {
  constructor(readonly server: Pick<TestServer, 'url'>) {
    super(server.url)
  }

  /** Posts JSON to one of our paths, as the page does. */
  async post(
    path: string,
    body: object,
    headers: Record<string, string> = {},
  ): Promise<SetupResponse> {
    const response = await fetch(new URL(path, this.url), {
      method: 'POST',
      headers: {
        'Content-Type': 'application/json',
        'X-Forwarded-For': newAddress(),
        Cookie: [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; '),
        ...headers,
      },
      body: JSON.stringify(body),
    })
    for (const cookie of response.headers.getSetCookie()) {
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(cookie)!
      this.cookies.set(name!, keepSecret(value!))
    }

    const parsed = await response.json().catch(() => ({})) // a request of another site
    return { status: response.status, body: parsed }
  }

  openLink = (secret: string) => this.post(routes.openSetup.path, { secret })
  save = (values: object) => this.post(routes.saveSetup.path, values)
  saveMetadata = (xml: string | Buffer) =>
    this.save({ protocol: 'saml', metadata: Buffer.from(xml).toString('base64') })
  apply = () => this.post(routes.applySetup.path, {})

  /** Returns the HTML of the page. */
  async page(query = ''): Promise<string> {
    return (await this.request(`/setup${query}`)).text()
  }
}

/** Returns the text that the page shows for an error, or ''. */
export function problemIn({ body }: SetupResponse): string {
  return body.issues?.[0]?.message ?? body.message ?? ''
}
