// The server of the tests: as `npm start` runs it, but without the pause before it stops, unless DRAIN_MS is set.
import { serve } from '../../bin/server'

serve({ drainMs: Number(process.env.DRAIN_MS ?? 0) }).catch((error: Error) => {
  console.error(error.message)
  process.exit(1)
})
