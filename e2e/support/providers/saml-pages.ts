import { createServer } from 'node:http'
import { listen } from '../servers/listen'

type Respond = (request: URL) => { acsUrl: string; response: string; relayState: string }

/**
 * Serves the page of a SAML provider on 127.0.0.1, which is another site than localhost.
 * The URL of the page contains the request. Like real providers, the page immediately
 * posts the response.
 */
export async function startSamlPages(
  respond: Respond,
): Promise<{ ssoUrl: string; stop: () => Promise<void> }> {
  const server = createServer((request, response) => {
    const url = new URL(request.url!, 'http://127.0.0.1')
    response.setHeader('Content-Type', 'text/html; charset=utf-8')
    response.end(url.pathname === '/favicon.ico' ? '' : pageOf(url))
  })
  const pageOf = (url: URL) => {
    const { acsUrl, response, relayState } = respond(url)
    return `<!doctype html><title>Provider</title><form method="post" action="${acsUrl}">
        <input type="hidden" name="SAMLResponse" value="${response}">
        <input type="hidden" name="RelayState" value="${relayState}"></form>
      <script>document.forms[0].submit()</script>`
  }
  const { url, stop } = await listen(server)
  return { ssoUrl: `${url}/sso`, stop }
}
