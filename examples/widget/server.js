// The server of a widget: serves widget.js, and an API for pages that have a widget JWT.
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { createRemoteJWKSet, jwtVerify } from 'jose'

const {
  LOGIN_URL = 'http://localhost:3000',
  PORT = '4200',
  HOST = '127.0.0.1',
} = process.env
const script = readFileSync(new URL('widget.js', import.meta.url))
const keys = createRemoteJWKSet(new URL('/.well-known/widget-jwks.json', LOGIN_URL))
const options = {
  issuer: `${LOGIN_URL}/widget`,
  audience: 'widget',
  typ: 'widget+jwt',
  algorithms: ['ES256'],
}

/**
 * Resolves to the claims of a widget JWT: `widget` and the `origin` of the page. Rejects
 * for any other token.
 */
export async function verifyWidget(token, origin) {
  const { payload } = await jwtVerify(token, keys, options)
  if (payload.origin !== origin)
    throw new Error('the JWT is for a page of another origin')
  return payload
}

const server = createServer(async ({ method, url, headers }, response) => {
  if (method === 'GET' && url === '/widget.js')
    return response
      .setHeader('Content-Type', 'text/javascript; charset=utf-8')
      .end(script)
  if (url !== '/greeting') return response.writeHead(404).end()
  response.setHeader('Vary', 'Origin')
  response.setHeader('Access-Control-Allow-Origin', headers.origin ?? '*')
  if (method === 'OPTIONS')
    return response
      .writeHead(204, {
        'Access-Control-Allow-Headers': 'Authorization',
        'Access-Control-Max-Age': '7200',
      })
      .end()
  try {
    const token = /^Bearer (\S+)$/.exec(headers.authorization ?? '')?.[1] ?? ''
    const { widget, origin } = await verifyWidget(token, headers.origin)
    response.setHeader('Content-Type', 'application/json')
    response.end(
      JSON.stringify({
        greeting: `Hello, page of ${origin}. This is the widget ${widget}.`,
      }),
    )
  } catch {
    response.writeHead(401).end()
  }
})
server.listen(Number(PORT), HOST, () => {
  console.log(`The widget is at http://${HOST}:${PORT}/widget.js`)
  process.send?.('listening')
})
