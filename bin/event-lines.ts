// What `npm run events` and `npm run users -- history` print.
import type { ListedEvent } from '../lib/event/list'

/** Prints events as they come, until the reader closes the pipe. */
export async function printEvents(
  events: AsyncIterable<ListedEvent>,
  json = false,
): Promise<void> {
  for await (const event of events) {
    if (!process.stdout.writable) return
    console.log(json ? JSON.stringify(event) : describeEvent(event))
  }
}

function describeEvent(event: ListedEvent): string {
  const { at, kind, actor, operator, command, user, ...others } = event
  const { userId, sessionId, requestId, ...shown } = others
  const who = [operator, command].filter(Boolean).join(', ')

  return [
    at.toISOString(),
    kind,
    user ?? userId,
    `by ${actor}${who && ` (${who})`}`,
    ...Object.entries(shown).map(([name, value]) => `${name} ${value}`),
  ]
    .filter(Boolean)
    .join('  ')
}
