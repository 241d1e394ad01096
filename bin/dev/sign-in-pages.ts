import type { ServerResponse } from 'node:http'
import { escapeHtml } from '../../lib/brand/escape-html'
import { localPage } from './page'

/** A page of the local provider for developers. */
export type OwnPage = (response: ServerResponse) => Promise<void>

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

async function findConnection(slug: string) {
  const { listStoredConnections } = await import('../../lib/sso/manage/connections')
  const [connection] = await listStoredConnections(slug)
  return connection!
}
