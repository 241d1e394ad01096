import { randomBytes } from 'node:crypto'
import { project } from '../../../bin/dev/local'
import { addClient, secretOf } from '../browsers/dashboard'
import type { Sql } from '../fixtures'
import { type Program, startProgram } from './program'

export type Example = Program & { url: string }

/** Starts the example dashboard at a URL of this machine, as a client of its own. */
export async function startDashboard(
  sql: Sql,
  loginUrl: string,
  url: string,
  more: Record<string, string> = {},
): Promise<Example> {
  const slug = `dash-${randomBytes(6).toString('hex')}`
  await addClient(sql, slug, [`${url}/callback`])

  return startExample('dashboard', url, {
    LOGIN_URL: loginUrl,
    CLIENT_ID: slug,
    CLIENT_SECRET: secretOf(slug),
    CHECK_SECONDS: '0',
    ...more,
  })
}

/** Starts the server of the example widget at a URL of this machine. */
export const startWidget = (loginUrl: string, url: string): Promise<Example> =>
  startExample('widget', url, { LOGIN_URL: loginUrl })

async function startExample(
  name: 'dashboard' | 'widget',
  url: string,
  settings: Record<string, string>,
): Promise<Example> {
  const program = await startProgram(
    [process.execPath, `${project}examples/${name}/server.js`],
    () => fetch(`${url}/nothing`).then(Boolean, () => false),
    { PORT: new URL(url).port, ...settings },
  )
  return { ...program, url }
}
