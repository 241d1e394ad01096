import type { ServerResponse } from 'node:http'
import { escapeHtml } from '../../lib/brand/escape-html'
import { localPage } from './page'

/** What an app enters to use the local provider. */
export type ProviderValues = { issuer: string; clientId: string; clientSecret: string }

/** A page of the local provider for developers. */
export type OwnPage = (response: ServerResponse, values: ProviderValues) => Promise<void>
type ProviderPages = Record<string, OwnPage>

/** Returns the pages about sign-ins through a connection, by path. */
export function createSignInPages(slug: string): Record<string, OwnPage> {
  return {
    '/try': async (response) => {
      const { createTestUrl } = await import('../../lib/sso/test-link')
      const Location = createTestUrl(await findConnection(slug))
      response.writeHead(303, { Location }).end()
    },

    '/rejected': async (response) => {
      const { listRejected } = await import('../../lib/sso/rejected')
      const { id } = await findConnection(slug)
      const items = (await listRejected(id)).map(
        ({ reason, email, subject, count }) =>
          `<li>${[reason, email ?? 'no address', subject, `times: ${count}`].map(escapeHtml).join('<br>')}</li>`,
      )
      const list = items.length > 0 ? `<ul>${items.join('')}</ul>` : '<p>None yet.</p>'
      const text = `<p>Accounts of this provider that the app has rejected in the past 7 days. In a terminal: npm run connections -- rejected ${slug}</p>`

      response.writeHead(200, { 'Content-Type': 'text/html; charset=utf-8' })
      response.end(localPage('Example Corp', 'Rejected sign-ins', text + list))
    },
  }
}

/**
 * Returns the page that makes a new draft with each visit, and shows its setup link and the
 * values to enter.
 */
export function createSetupPage(slug: string, domain: string): ProviderPages {
  return {
    '/setup': async (response, { issuer, clientId, clientSecret }) => {
      const url = await inviteAgain(slug, domain)
      const entries = Object.entries({
        issuer,
        'client ID': clientId,
        'client secret': clientSecret,
      })
      const values = entries.map(
        ([name, value]) => `<li>${name}<br><code>${escapeHtml(value)}</code></li>`,
      )
      const text = `<p><a href="${escapeHtml(url)}">Open the setup link</a></p>
<p>Choose “Another product, with OpenID Connect”, and enter:</p><ul>${values.join('')}</ul>
<p>The link may activate the connection. To make such a link in a terminal: npm run connections -- invite ${slug} --domain ${domain} --may-apply</p>`

      response.writeHead(200, { 'Content-Type': 'text/html; charset=utf-8' })
      response.end(localPage('Example Corp', 'Setup link', text))
    },
  }
}

async function inviteAgain(slug: string, domain: string): Promise<string> {
  const { listStoredConnections, removeConnection } = await import(
    '../../lib/sso/manage/connections'
  )
  for (const connection of await listStoredConnections(slug))
    await removeConnection(connection)

  const { invite } = await import('../../lib/sso/setup/invite')
  const { url } = await invite({
    slug,
    name: 'Customer',
    domains: [domain],
    mayActivate: true,
    days: 7,
    startOver: false,
  })

  return url
}

async function findConnection(slug: string) {
  const { listStoredConnections } = await import('../../lib/sso/manage/connections')
  const [connection] = await listStoredConnections(slug)
  return connection!
}
