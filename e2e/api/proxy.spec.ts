import { writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { type AddressInfo, connect as connectTo, type Server } from 'node:net'
import { createServer as createTlsServer } from 'node:tls'
import { newKeyPair } from '../../lib/sso/saml/key-pair'
import { errorOf, Visitor } from '../support/browsers/sso-visitor'
import { connect } from '../support/databases/connection'
import {
  expect,
  newPassword,
  newToken,
  postTo,
  resetPath,
  test,
} from '../support/fixtures'
import { startProvider } from '../support/providers/oidc-provider'
import { connections } from '../support/servers/command'
import { listen } from '../support/servers/listen'
import { startUpstash } from '../support/servers/upstash'
import { startConnectProxy } from '../support/wire/connect-proxy'

const host = 'services.example' // only the proxy can resolve this host

/** Starts a server that terminates TLS for a service. Returns its port. */
async function startTls(
  service: string,
  { privateKey: key, certificate: cert }: Record<string, string>,
) {
  const { port: servicePort, hostname } = new URL(service)
  const server: Server = createTlsServer({ key, cert }, (client) => {
    const socket = connectTo(Number(servicePort), hostname)
    socket.on('error', () => client.destroy()).pipe(client)
    client.on('error', () => socket.destroy()).pipe(socket)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return (server.address() as AddressInfo).port
}

test('requests use the proxy and NODE_EXTRA_CA_CERTS, except telemetry and requests to hosts in NO_PROXY', async ({
  serverWith,
  user,
}, testInfo) => {
  const keyPair = await newKeyPair(host)
  const authority = testInfo.outputPath('authority.pem')
  await writeFile(authority, keyPair.certificate)
  const [proxy, provider, upstash] = [
    await startConnectProxy(),
    await startProvider(),
    await startUpstash(),
  ]
  const direct: string[] = []
  const directServer = await listen(
    createServer(({ url }, response) => {
      direct.push(url!.replace(/[\dA-F]{5}$/, 'PREFIX'))
      response.end(`${'0'.repeat(35)}:1`)
    }),
  )
  const [issuerPort, redisPort] = [
    await startTls(provider.issuer, keyPair),
    await startTls(upstash.settings.UPSTASH_REDIS_REST_URL!, keyPair),
  ]
  const issuer = `https://${host}:${issuerPort}`
  provider.behavior = {
    metadata: (genuine) =>
      JSON.parse(JSON.stringify(genuine).replaceAll(provider.issuer, issuer)),
    claims: (genuine) => ({ ...genuine, iss: issuer }),
    response: (given) => given.set('iss', issuer),
  }
  const slug = await connect(provider, {
    settings: { kind: 'oidc', issuer, clientId: 'the-client' },
  })
  const proxies = { HTTPS_PROXY: proxy.url, HTTP_PROXY: proxy.url, NO_PROXY: '127.0.0.1' }
  const outside = { ...proxies, NODE_EXTRA_CA_CERTS: authority }
  const server = await serverWith({
    ...outside,
    ...upstash.settings,
    UPSTASH_REDIS_REST_URL: `https://${host}:${redisPort}`,
    PASSWORD_BREACH_CHECK: 'true',
    PASSWORD_BREACH_URL: directServer.url,
    OTEL_EXPORTER_OTLP_ENDPOINT: directServer.url.replace('127.0.0.1', 'localhost'), // not in NO_PROXY
    OTEL_BSP_SCHEDULE_DELAY: '100',
    OTEL_METRIC_EXPORT_INTERVAL: '100',
  })

  const visitor = new Visitor(server.url)
  const { href } = await visitor.start(slug)
  const authorization = new URL(href.replace(issuer, provider.issuer))
  expect(
    errorOf(await visitor.comeBack(await visitor.authorize(authorization))),
  ).toBeNull()
  const reset = { token: await newToken(user), password: newPassword() }
  expect((await postTo(server.url + resetPath, reset)).status).toBe(200)
  expect(new Set(proxy.connected)).toEqual(
    new Set([`${host}:${issuerPort}`, `${host}:${redisPort}`]),
  )
  // The first requests may have exceeded the time limit for Redis.
  const commandsAfterRequest = async () => {
    await fetch(`${server.url}/api/health`)
    return upstash.commands.length
  }
  await expect.poll(commandsAfterRequest).toBeGreaterThan(0)
  await expect
    .poll(() => new Set(direct))
    .toEqual(new Set(['/range/PREFIX', '/v1/traces', '/v1/metrics']))

  proxy.connected.length = 0
  expect(await connections(['check', slug], '', outside)).toContain(
    `the provider responds, and names itself ${issuer}`,
  )
  expect(new Set(proxy.connected)).toEqual(new Set([`${host}:${issuerPort}`]))
  await Promise.all([proxy, provider, upstash, directServer].map(({ stop }) => stop()))
})
