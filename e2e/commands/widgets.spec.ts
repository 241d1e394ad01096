import * as routes from '../../lib/contract/routes'
import { newSigningKeys } from '../../lib/settings/signing-keys'
import { openOwnDatabase } from '../support/databases/own-database'
import { expect, postTo, test } from '../support/fixtures'
import { keepSecret, newAddress } from '../support/secrets'
import { runScript } from '../support/servers/command'

const origin = 'https://www.example.com'

test('each command of npm run widgets takes effect at the widget endpoint', async ({
  serverWith,
}) => {
  const database = await openOwnDatabase()
  const settings = { DATABASE_URL: database.url(), DIRECT_DATABASE_URL: database.url() }
  const server = await serverWith({ ...settings, WIDGET_SIGNING_KEYS: newSigningKeys() })
  const outputs: string[] = []
  const run = async (...command: string[]) => {
    const ended = await runScript(['widgets', ...command], '', settings)
    if (!['add', 'rotate'].includes(command[0]!))
      outputs.push(ended.stdout + ended.stderr)
    return ended
  }
  const printed = async (...command: string[]) => {
    const { code, stdout, stderr } = await run(...command)
    expect(code, stderr).toBe(0)
    return stdout.trim()
  }
  const refused = async (message: string, ...command: string[]) => {
    expect(await run(...command)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(message),
    })
  }
  const ask = async (widgetToken: string, from = origin) => {
    const headers = { Origin: from, 'X-Forwarded-For': newAddress() }
    const { status, body } = await postTo(
      server.url + routes.startWidgetSession.path,
      { widgetToken },
      headers,
    )
    return [status, body.code].filter(Boolean).join(' ')
  }

  const added = await run('add', 'chat', '--origin', origin, '--name', 'Chat of Acme')
  // only the token is in stdout, so that it can be piped
  expect(added.stdout).toMatch(/^wgt_[\w-]{43}\n$/)
  expect(added.stderr).toContain(`Pages of ${origin} may use it.`)
  const first = keepSecret(added.stdout.trim())
  expect(await ask(first)).toBe('200')
  await refused('There is already a widget chat.', 'add', 'chat')
  await refused('is not a slug', 'add', 'Chat')
  await refused('use https://www.example.com', 'add', 'other', '--origin', `${origin}/`)
  await refused('There is no widget other.', 'show', 'other')

  expect(await printed('add-origin', 'chat', 'http://localhost:8080')).toContain(
    'may use chat',
  )
  expect(await ask(first, 'http://localhost:8080')).toBe('200')
  await refused('has a wildcard', 'add-origin', 'chat', 'https://*.example.com')
  expect(await printed('remove-origin', 'chat', 'http://localhost:8080')).toContain(
    'may no longer use chat',
  )
  await refused('was not approved', 'remove-origin', 'chat', 'http://localhost:8080')
  expect(await ask(first, 'http://localhost:8080')).toBe('403 ORIGIN_REJECTED')
  const sql = `INSERT INTO widget_origins SELECT id, 'https://' || number || '.example.com' FROM widgets, generate_series(1, 49) number`
  await database.sql(sql)
  await refused(
    'at most 50 origins',
    'add-origin',
    'chat',
    'https://one.more.example.com',
  )

  const second = keepSecret((await run('rotate', 'chat', '--keep', '7d')).stdout.trim())
  expect([await ask(first), await ask(second)]).toEqual(['200', '200'])
  expect(await printed('show', 'chat')).toMatch(
    new RegExp(
      `Token …${first.slice(-4)}: created \\S+, expires \\S+\\nToken …${second.slice(-4)}: created \\S+$`,
    ),
  )
  await refused('is not a time', 'rotate', 'chat', '--keep', 'soon')
  expect(await printed('revoke', 'chat', first.slice(-4))).toContain('Revoked the token')
  await refused('has no live token', 'revoke', 'chat', first.slice(-4))
  expect([await ask(first), await ask(second)]).toEqual([
    '400 WIDGET_TOKEN_INVALID',
    '200',
  ])
  const third = keepSecret((await run('rotate', 'chat')).stdout.trim())
  expect([await ask(second), await ask(third)]).toEqual([
    '400 WIDGET_TOKEN_INVALID',
    '200',
  ])

  const check = (from = origin) => printed('check', 'chat', from)
  expect(await check()).toBe(`200: pages of ${origin} may use chat.`)
  expect(await check('https://evil.example')).toMatch(
    /^403 ORIGIN_REJECTED: .* add-origin chat https:\/\/evil\.example$/,
  )
  await refused('use https://www.example.com', 'check', 'chat', `${origin}/`)
  expect(await printed('disable', 'chat')).toContain('Disabled chat.')
  expect([await ask(third), await check()]).toEqual([
    '400 WIDGET_TOKEN_INVALID',
    expect.stringMatching(/^400 WIDGET_TOKEN_INVALID: chat is disabled/),
  ])
  expect(await printed('list')).toMatch(/^chat {2}disabled since \S+ {2}https:/)
  expect(await printed('enable', 'chat')).toBe('Enabled chat.')
  expect(await ask(third)).toBe('200')
  const listed = JSON.parse(await printed('list', '--json'))
  expect(listed).toMatchObject({ slug: 'chat', name: 'Chat of Acme', disabledAt: null })
  await printed('revoke', 'chat', third.slice(-4))
  expect(await check()).toMatch(/^400 WIDGET_TOKEN_INVALID: chat has no live token/)
  expect(await printed('remove', 'chat')).toContain('Removed chat.')
  expect(await printed('list')).toBe('')

  for (const token of [first, second, third]) expect(outputs.join()).not.toContain(token)
  await database.drop()
})
