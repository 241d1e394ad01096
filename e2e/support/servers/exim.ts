import { execFileSync } from 'node:child_process'
import { chmodSync, chownSync, mkdirSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { type Program, startProgram, temporaryFolder } from './program'
import { freePort } from './server'
import { findExim } from './tools'

export type Exim = Pick<Program, 'stop'> & {
  /** The settings for a command of the app that sends email through Exim. */
  settings: { SMTP_URL: string; MAIL_FROM: string }
}

/**
 * Starts Debian's Exim, which relays every email to another server at once. `option`: a
 * line of the transport.
 */
export async function startExim(nextPort: string, option: string): Promise<Exim> {
  const program = findExim()
  const folder = temporaryFolder('exim')
  chmodSync(folder.path, 0o755) // because Exim does not run as root
  const user = execFileSync('id', ['-u', 'Debian-exim'], { encoding: 'utf8' })
  const group = execFileSync('id', ['-g', 'Debian-exim'], { encoding: 'utf8' })
  for (const name of ['spool', 'log']) {
    mkdirSync(`${folder.path}/${name}`)
    chownSync(`${folder.path}/${name}`, Number(user), Number(group))
  }

  const port = await freePort()
  const file = `${folder.path}/exim.conf`
  writeFileSync(
    file,
    `exim_path = ${program}
primary_hostname = relay.example
spool_directory = ${folder.path}/spool
log_file_path = ${folder.path}/log/%slog
local_interfaces = 127.0.0.1
daemon_smtp_ports = ${port}
smtputf8_advertise_hosts = *
tls_advertise_hosts =
keep_environment =
acl_smtp_rcpt = accept

begin routers
next:
  driver = manualroute
  transport = out
  route_list = * 127.0.0.1
  self = send

begin transports
out:
  driver = smtp
  port = ${nextPort}
  allow_localhost
  ${option}
`,
    { mode: 0o644 },
  )
  const { stop } = await startProgram([program, '-C', file, '-bdf'], () => greets(port))

  return {
    settings: { SMTP_URL: `smtp://127.0.0.1:${port}`, MAIL_FROM: 'login@example.com' },
    stop: async () => {
      await stop()
      folder.remove()
    },
  }
}

/** Returns whether an SMTP server greets on a port. */
function greets(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    socket.once('data', () => {
      socket.end('QUIT\r\n')
      resolve(true)
    })
    socket.once('error', () => resolve(false))
  })
}
