// A thread of clients that open connections without pause, so that the thread of the test, which
// measures, does not wait for them. Some use each connection for one request, some close it at any
// time, and some keep theirs.
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { workerData } from 'node:worker_threads'

const { port, addresses, once = 0, closed = 0, kept = 0, request, answered } = workerData
const newSocket = (index) => {
  const localAddress = addresses[index % addresses.length]
  return connect({ port, host: '127.0.0.1', localAddress }).on('error', () => {})
}

for (let index = 0; index < once; index++) useOnce(index)
for (let index = 0; index < closed; index++) closeSoon(index)
for (let index = 0; index < kept; index++) keep(index)

function useOnce(index) {
  const socket = newSocket(index)
  socket.once('data', () => {
    Atomics.add(answered, 0, 1)
    socket.resetAndDestroy() // a port whose connection ended in order can't be used again for a minute
  })
  socket.on('close', () => setImmediate(useOnce, index))
  socket.write(request)
}

async function closeSoon(index) {
  for (;;) {
    const socket = newSocket(index)
    socket.write(request)
    await sleep(index % 6)
    socket.resetAndDestroy()
  }
}

function keep(index) {
  const socket = newSocket(index)
  socket.on('data', () => socket.write(request))
  socket.on('close', () => setTimeout(keep, 100, index))
  socket.write(request)
}
