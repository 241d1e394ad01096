// Loaded into a server under test with `NODE_OPTIONS=--import …`. On the message
// `list-files`, it reports the `file:` URLs or paths of all files whose code the process
// has loaded.
import { Session } from 'node:inspector'

process.on('message', (message) => {
  if (message !== 'list-files') return
  const files = []
  const session = new Session()
  session.connect()
  session.on('Debugger.scriptParsed', ({ params }) => files.push(params.url))
  session.post('Debugger.enable', () => {
    session.disconnect()
    process.send({ files })
  })
})
