// The Redis of the tests behind Upstash's protocol, in its own process, so that its CPU time is not
// counted as the server's.
import { startUpstash } from '../e2e/support/upstash'

const upstash = await startUpstash()
setInterval(() => {
  upstash.commands.length = 0 // recorded for the tests only; it would grow without limit
}, 1_000)
process.send!(upstash.settings)
const stop = () => void upstash.stop().then(() => process.exit())
process.on('SIGTERM', stop)
process.on('disconnect', stop)
