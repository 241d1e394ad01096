// A thread of clients that open a connection, use it once and close it, without pause, so that the
// thread of the test, which measures, does not wait for them.
import { connect } from 'node:net'
import { workerData } from 'node:worker_threads'

const { port, connections, addresses, sent, answered } = workerData

for (let index = 0; index < connections; index++) openNext(addresses[index % addresses.length])

function openNext(localAddress) {
  const socket = connect({ port, host: '127.0.0.1', localAddress })
  socket.once('data', () => {
    Atomics.add(answered, 0, 1)
    socket.resetAndDestroy() // a port whose connection ended in order can't be used again for a minute
  })
  socket.on('error', () => {})
  socket.on('close', () => setImmediate(openNext, localAddress))
  socket.write(sent)
}
