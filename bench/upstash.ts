// The tests' Redis behind Upstash's protocol, in a process of its own, so that its CPU is not the server's.
import { startUpstash } from '../e2e/support/upstash'

const upstash = await startUpstash()
setInterval(() => {
  upstash.commands.length = 0 // which the tests look at, and would only grow here
}, 1_000)
process.send!(upstash.settings)
const stop = () => void upstash.stop().then(() => process.exit())
process.on('SIGTERM', stop)
process.on('disconnect', stop)
