// A thread of clients that ask for routes and open connections without end, so that the thread of the
// test, which measures, does not wait for them.
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { workerData } from 'node:worker_threads'

const { port, requests, comers, counts } = workerData
const responses = new Int32Array(counts)

for (const request of requests) ask(request)
for (let index = 0; index < comers; index++) comeAndGo()

function ask(request) {
  const socket = connect(port, '127.0.0.1')
  socket.write(request)
  socket.on('data', () => {
    Atomics.add(responses, 0, 1) // each is small enough to arrive in one piece
    socket.write(request)
  })
  socket.on('error', () => {})
  socket.on('close', () => ask(request)) // after as many requests as the server allows
}

async function comeAndGo() {
  for (;;) {
    const socket = connect(port, '127.0.0.1').on('error', () => {})
    await sleep(20)
    socket.destroy()
  }
}
