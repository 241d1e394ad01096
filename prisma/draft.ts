import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { openConnection, startEngine } from './engine.mjs'

const folder = fileURLToPath(new URL('.', import.meta.url))
const path = `${folder}schema.prisma`

/**
 * The SQL for the changes in schema.prisma since the newest committed migration; empty if there are
 * none. The engine needs the `url` of any PostgreSQL, but changes nothing there.
 */
export async function draftMigration(url: string): Promise<string> {
  const connection = openConnection(url)
  try {
    const engine = await startEngine(connection)
    const { stdout } = await engine.diff({
      from: { tag: 'schemaDatamodel', files: [{ path, content: committedSchema() }] },
      to: { tag: 'schemaDatamodel', files: [{ path, content: readFileSync(path, 'utf8') }] },
      script: true,
      exitCode: null,
      filters: { externalTables: [], externalEnums: [] },
    })
    return stdout?.includes('This is an empty migration') ? '' : (stdout ?? '')
  } finally {
    await connection.end()
  }
}

/** schema.prisma as of the last commit that added a migration. */
function committedSchema(): string {
  const git = (...parameters: string[]) => execFileSync('git', parameters, { cwd: folder, encoding: 'utf8' }).trim()
  return git('show', `${git('log', '-1', '--format=%H', '--', 'migrations')}:./schema.prisma`)
}
