import { createServer } from 'node:http'
import { connect } from 'node:net'
import type { Duplex } from 'node:stream'
import { listen } from '../servers/listen'

/**
 * Starts a CONNECT proxy that connects to this machine for every host. Records the
 * requested hosts and ports.
 */
export async function startConnectProxy() {
  const connected: string[] = []
  const clients = new Set<Duplex>()
  const server = createServer((_request, response) => void response.writeHead(405).end())
  server.on('connect', ({ url }, client, head) => {
    connected.push(url!)
    clients.add(client)
    const service = connect(Number(url!.split(':').at(-1)), '127.0.0.1', () => {
      client.write('HTTP/1.1 200 Connection established\r\n\r\n')
      service.write(head)
      service.pipe(client).pipe(service)
    })
    for (const [one, other] of [
      [client, service],
      [service, client],
    ] as const)
      one.on('error', () => {}).on('close', () => other.destroy())
  })
  const { url, stop } = await listen(server)
  const stopAll = async () => {
    // the server no longer knows these connections
    for (const client of clients) client.destroy()
    await stop()
  }
  return { url, stop: stopAll, connected }
}
