// `npm run events`: lists what has happened (docs/operate.md).
import { Option } from 'commander'
import { type EventKind, eventKinds } from '../lib/contract/events'
import { recordsEvents } from '../lib/settings/env'
import { UsageError } from '../lib/usage-error'
import { newProgram, readSince, runCommand } from './command-line'
import { prepareCommand, withDatabaseAsOwner } from './dev/local'
import { printEvents } from './event-lines'

prepareCommand()
const { findConnectionId, listEvents } = await import('../lib/event/list')

type Flags = { since: string; kind?: EventKind; connection?: string; json?: true }

async function list({ since, kind, connection, json }: Flags): Promise<void> {
  if (!recordsEvents())
    console.error('EVENTS_DAYS is 0 here: this may list old events only.')

  const connectionId = connection && (await findConnectionId(connection))
  if (connectionId === null)
    throw new UsageError(
      `There is no connection ${connection}. List them with npm run connections -- list`,
    )

  const filter = {
    since: readSince(since),
    ...(kind && { kind }),
    ...(connectionId && { connectionId }),
  }
  await printEvents(listEvents(filter), json)
}

const program = newProgram(
  'npm run events --',
  'Lists what has happened: sign-ins, and changes of users, connections, clients and widgets. Uses DIRECT_DATABASE_URL, else DATABASE_URL.',
)

program
  .command('list')
  .description('lists events, the oldest first')
  .option('--since <time>', 'a time ago, such as 12h, or a date such as 2026-12-01', '7d')
  .addOption(
    new Option('--kind <kind>', 'only these, such as sign_in_failed').choices(
      Object.keys(eventKinds),
    ),
  )
  .option('--connection <slug>', 'only those of this connection, possibly a removed one')
  .option('--json', 'one object per line')
  .action(withDatabaseAsOwner(list))

runCommand(program)
