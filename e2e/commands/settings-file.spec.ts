import { writeFileSync } from 'node:fs'
import { openOwnDatabase } from '../support/databases/own-database'
import { expect, test } from '../support/fixtures'
import { keepSecret } from '../support/secrets'
import { runProgram, runScript } from '../support/servers/command'
import { temporaryFolder } from '../support/servers/program'
import { production } from '../support/servers/server'
import { startSmtp } from '../support/servers/smtp'

// Tests that commands can read the settings file of the systemd units, as docs/deploy.md
// says, without any other setting.

test('commands read the settings of a file, without a second copy of the secrets', async () => {
  const { sql, drop, url } = await openOwnDatabase()
  const smtp = await startSmtp()
  const folder = temporaryFolder('settings')
  const file = `${folder.path}/login.env`
  const run = (...command: string[]) => {
    const [name, ...parameters] = command
    const given = [`--env-file=${file}`, `bin/${name}.js`, ...parameters]
    const env = { PATH: process.env.PATH } as unknown as NodeJS.ProcessEnv
    return runProgram(process.execPath, given, { cwd: production, env })
  }
  try {
    await sql(
      `INSERT INTO users (email, email_domain) VALUES ('ada@example.com', 'example.com')`,
    )
    const keys = (await runScript(['keys', 'new'])).stdout
    for (const [secret] of keys.matchAll(/(?<="d":")[^"]+/g)) keepSecret(secret)
    const lines = [
      '# settings',
      keys.trim(),
      `DATABASE_URL=${url()}`,
      'PUBLIC_URL="https://login.example.com"',
      `APP_NAME='Team #1 of $HOME'`,
      ...Object.entries(smtp.settings).map((setting) => setting.join('=')),
    ]
    writeFileSync(file, `${lines.join('\n')}\n`, { mode: 0o600 })

    expect(await run('users', 'list')).toEqual({
      code: 0,
      stdout: 'ada@example.com\n',
      stderr: '',
    })
    expect((await run('mail', 'test', 'ada@example.com')).stderr).toBe('')
    expect(smtp.mailsTo('ada@example.com')[0]!.subject).toBe('Test of Team #1 of $HOME')
    expect((await run('keys', 'list')).stdout).toContain('signs')
  } finally {
    folder.remove()
    await smtp.stop()
    await drop()
  }
})
