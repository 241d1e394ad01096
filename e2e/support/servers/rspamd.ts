import { mkdirSync, writeFileSync } from 'node:fs'
import { responds, startProgram, temporaryFolder } from './program'
import { freePort } from './server'

export type Rspamd = {
  /** Returns the score of each rule that an email triggers. */
  score: (raw: string) => Promise<Record<string, number>>
  stop: () => Promise<void>
}

// These modules need DNS, Redis or downloads.
const modules = [
  ...['arc', 'asn', 'dkim', 'dkim_signing', 'dmarc', 'fuzzy_check', 'hfilter'],
  ...['mx_check', 'rbl', 'rspamd_update', 'spf', 'url_redirector', 'whitelist'],
]

/**
 * Starts rspamd with Debian's configuration, on a free port of 127.0.0.1, without DNS and
 * without Redis.
 */
export async function startRspamd(): Promise<Rspamd> {
  const folder = temporaryFolder('rspamd')
  const overrides = `${folder.path}/override.d`
  mkdirSync(overrides)
  const port = await freePort()
  const override = (name: string, lines: string) =>
    writeFileSync(`${overrides}/${name}`, `${lines}\n`)

  override('worker-normal.inc', `bind_socket = "127.0.0.1:${port}"; count = 1;`)
  override('worker-controller.inc', 'enabled = false;')
  override('worker-proxy.inc', 'enabled = false;')
  override('logging.inc', 'type = "console"; level = "warning";')
  // No name server listens on port 1. Some rules still ask, and wait for the timeout.
  const dns = 'nameserver = ["127.0.0.1:1"]; timeout = 0.02s; retransmits = 1;'
  override('options.inc', `dns { ${dns} }`)
  for (const module of modules) override(`${module}.conf`, 'enabled = false;')

  const folders = ['LOCAL_CONFDIR', 'DBDIR', 'RUNDIR', 'LOGDIR']
  const program = await startProgram(
    [
      ...['/usr/bin/rspamd', '--no-fork', '--config', '/etc/rspamd/rspamd.conf'],
      ...folders.map((name) => `--var=${name}=${folder.path}`),
      ...(process.getuid?.() === 0 ? ['--insecure'] : []),
    ],
    () => responds(`http://127.0.0.1:${port}/ping`),
  )

  return {
    score: async (raw) => {
      const url = `http://127.0.0.1:${port}/checkv2`
      const response = await fetch(url, { method: 'POST', body: raw })
      const { symbols } = (await response.json()) as {
        symbols: Record<string, { score: number }>
      }
      return Object.fromEntries(
        Object.entries(symbols).map(([name, { score }]) => [name, score]),
      )
    },
    stop: async () => {
      await program.stop()
      folder.remove()
    },
  }
}
