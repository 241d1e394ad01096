import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'

/** Starts an HTTP server on a free port of 127.0.0.1. */
export async function listen(
  server: Server,
): Promise<{ url: string; stop: () => Promise<void> }> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const stop = () =>
    new Promise<void>((resolve) => {
      server.close(() => resolve())
      server.closeAllConnections()
    })
  return { url: `http://127.0.0.1:${port}`, stop }
}
