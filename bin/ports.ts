import { once } from 'node:events'
import { connect } from 'node:net'

/** Returns PORT if set, else the first free port from 3000. Throws if PORT is taken. */
export async function choosePort(): Promise<number> {
  const wanted = Number(process.env.PORT || 0)
  if (wanted && (await isTaken(wanted))) throw new Error(`Port ${wanted} is taken: set PORT to another one.`)
  return wanted || firstFreePort(3000)
}

/** Returns the first of 100 ports that is free. */
export async function firstFreePort(first: number): Promise<number> {
  for (let port = first; port < first + 100; port++) if (!(await isTaken(port))) return port
  throw new Error(`Ports ${first} to ${first + 99} are all taken.`)
}

/** Tries to connect, because some systems let two servers share a port if their addresses differ. */
function isTaken(port: number): Promise<boolean> {
  const socket = connect(port, 'localhost')
  const connected = once(socket, 'connect').then(Boolean, () => false)
  return connected.finally(() => socket.destroy())
}
