import { createSocket } from 'node:dgram'
import { once } from 'node:events'

/** Addresses of a name, by type. What is null gets no answer, and a name that is missing does not exist. */
type Names = Record<string, { A?: Buffer[] | null; AAAA?: Buffer[] | null } | null>

const types = { 1: 'A', 28: 'AAAA' } as const

/** Starts a name server (RFC 1035) on this machine, for these names. */
export async function startNameServer(names: Names) {
  const socket = createSocket('udp4')
  const queried: string[] = []
  socket.on('message', (query, { port }) => {
    const { name, type, question } = questionOf(query)
    queried.push(name)
    const records = names[name]
    if (records === null) return
    const addresses = records?.[types[type as keyof typeof types]]
    if (addresses === null) return
    const answers = (addresses ?? []).map((address) => answer(type, address))
    const header = Buffer.alloc(12)
    query.copy(header, 0, 0, 2) // the ID
    header.writeUInt16BE(records ? 0x8180 : 0x8183, 2) // a response, and for a missing name NXDOMAIN
    header.writeUInt16BE(1, 4)
    header.writeUInt16BE(answers.length, 6)
    socket.send(Buffer.concat([header, question, ...answers]), port)
  })
  socket.bind(0, '127.0.0.1')
  await once(socket, 'listening')
  return {
    address: `127.0.0.1:${socket.address().port}`,
    /** The names in the queries so far. */
    queried,
    stop: () => new Promise<void>((resolve) => socket.close(resolve)),
  }
}

function questionOf(query: Buffer) {
  const labels: string[] = []
  let end = 12
  while (query[end]! > 0) {
    const next = end + 1 + query[end]!
    labels.push(query.toString('ascii', end + 1, next))
    end = next
  }
  return { name: labels.join('.'), type: query.readUInt16BE(end + 1), question: query.subarray(12, end + 5) }
}

function answer(type: number, address: Buffer): Buffer {
  const record = Buffer.alloc(12)
  record.writeUInt16BE(0xc00c, 0) // the name of the question
  record.writeUInt16BE(type, 2)
  record.writeUInt16BE(1, 4)
  record.writeUInt16BE(address.length, 10)
  return Buffer.concat([record, address])
}
