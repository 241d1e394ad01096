import { writeFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { after } from 'next/server'

/** Leaves work to `after()`, as a route that sends an e-mail does. */
export function GET(): Response {
  after(async () => {
    await sleep(1_500)
    await writeFile(process.env.DONE_FILE!, 'done')
  })
  return Response.json({ ok: true })
}
