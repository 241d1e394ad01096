import { once } from 'node:events'
import { connect } from 'node:net'

/** Returns the first free port of the `count` ports that begin at `first`. */
export async function firstFreePort(first: number, count = 100): Promise<number> {
  for (let port = first; port < first + count; port++)
    if (!(await isTaken(port))) return port
  if (count === 1) throw new Error(`Port ${first} is taken: set PORT to another one.`)
  throw new Error(`Ports ${first} to ${first + count - 1} are all taken.`)
}

/**
 * Tries to connect, because some systems allow two servers with different addresses on
 * one port.
 */
function isTaken(port: number): Promise<boolean> {
  const socket = connect(port, 'localhost')
  const connected = once(socket, 'connect').then(Boolean, () => false)
  return connected.finally(() => socket.destroy())
}
