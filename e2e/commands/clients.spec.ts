import { authenticateClient, findClient } from '../../lib/client/client'
import { addClient, listClients, updateClient } from '../../lib/client/manage'
import { expect, test } from '../support/fixtures'
import { keepSecret } from '../support/secrets'
import { runScript } from '../support/servers/command'

const redirect = 'https://app.example.com/callback'

test('each command of npm run clients takes effect on the client', async () => {
  const slug = `app-${Date.now()}`
  const outputs: string[] = []
  const run = async (...command: string[]) => {
    const ended = await runScript(['clients', ...command])
    const hasSecret = ['add', 'rotate'].includes(command[0]!)
    outputs.push(hasSecret ? ended.stderr : ended.stdout + ended.stderr)
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
  const accepts = async (...secrets: (string | null)[]) => {
    const found = secrets.map((secret) => authenticateClient(slug, secret))
    return (await Promise.all(found)).map((client) => client !== null)
  }

  const added = await run('add', slug, '--redirect', redirect, '--token-minutes', '30')
  // only the secret is in stdout, so that it can be piped
  expect(added.stdout).toMatch(/^cs_[\w-]{43}\n$/)
  const first = keepSecret(added.stdout.trim())
  const issuer = process.env.PUBLIC_URL
  for (const text of [
    `issuer               ${issuer}\n`,
    `${issuer}/.well-known/openid-configuration\n`,
    `client ID            ${slug}\n`,
    redirect,
    'response_type=code, the scope openid',
    'PKCE with S256, or send a nonce',
  ])
    expect(added.stderr).toContain(text)
  expect(await authenticateClient(slug, first)).toMatchObject({ tokenMinutes: 30 })
  expect(await accepts(first, null, 'another secret', '')).toEqual([
    true,
    false,
    false,
    false,
  ])

  await refused(`There is already a client ${slug}.`, 'add', slug, '--redirect', redirect)
  await refused('is not a slug', 'add', 'App', '--redirect', redirect)
  await refused('is the audience', 'add', 'dashboard', '--redirect', redirect)
  await refused('--redirect <url>', 'add', 'other')
  await refused('has a wildcard', 'add', 'other', '--redirect', 'https://*.example.com/')
  const onOwnOrigin = ['--redirect', `${issuer}/callback`]
  await refused('on the origin of this service', 'add', 'other', ...onOwnOrigin)
  const badLogout = ['--redirect', redirect, '--post-logout', 'http://app.example.com/']
  await refused('must begin with https://', 'add', 'other', ...badLogout)
  for (const minutes of ['4', '721', '1.5', 'x'])
    await refused(
      'from 5 to 720',
      ...['add', 'other', '--redirect', redirect, '--token-minutes', minutes],
    )
  await refused('There is no client other.', 'show', 'other')

  const second = keepSecret((await run('rotate', slug, '--keep', '7d')).stdout.trim())
  expect(await accepts(first, second)).toEqual([true, true])
  expect(await printed('show', slug)).toMatch(
    new RegExp(
      `Tokens: valid for 30 minutes\\nSecret …${first.slice(-4)}: created \\S+, expires \\S+\\nSecret …${second.slice(-4)}: created \\S+$`,
    ),
  )
  await refused('is not a time', 'rotate', slug, '--keep', 'soon')
  expect(await printed('revoke', slug, first.slice(-4))).toContain('Revoked the secret')
  await refused('has no live secret', 'revoke', slug, first.slice(-4))
  expect(await accepts(first, second)).toEqual([false, true])
  const third = keepSecret((await run('rotate', slug)).stdout.trim())
  expect(await accepts(second, third)).toEqual([false, true])

  const other = 'https://app.example.com/other'
  const bye = 'https://app.example.com/bye'
  const told = 'https://app.example.com/told'
  const changes = [
    ...['--add-redirect', other, '--add-post-logout', bye],
    ...['--backchannel-logout', told],
  ]
  expect(await printed('update', slug, ...changes, '--token-minutes', '720')).toBe(
    `Updated ${slug}.`,
  )
  const listed = async () => {
    const lines = (await printed('list', '--json')).split('\n')
    return lines.map((line) => JSON.parse(line)).find((client) => client.slug === slug)
  }
  expect(await listed()).toMatchObject({
    isPublic: false,
    redirectUris: [redirect, other],
    postLogoutRedirectUris: [bye],
    backchannelLogoutUri: told,
    tokenMinutes: 720,
    disabledAt: null,
  })
  await printed(
    'update',
    slug,
    '--remove-redirect',
    redirect,
    '--remove-post-logout',
    bye,
    '--no-backchannel-logout',
  )
  expect(await listed()).toMatchObject({
    redirectUris: [other],
    postLogoutRedirectUris: [],
    backchannelLogoutUri: null,
    tokenMinutes: 720,
  })
  await refused('was not registered', 'update', slug, '--remove-redirect', redirect)
  await refused('needs a redirect URI', 'update', slug, '--remove-redirect', other)
  await refused('must not have a fragment', 'update', slug, '--add-redirect', `${other}#`)
  await refused(
    'must begin with https',
    'update',
    slug,
    '--backchannel-logout',
    'http://x.example/',
  )
  await refused('Name what to change', 'update', slug)

  const check = (uri: string) => printed('check', slug, uri)
  expect(await check(other)).toBe(`${other} may be used by ${slug}.`)
  expect(await check(`${other}/`)).toBe(
    `redirect_uri_unknown: ${other}/ is not registered. It differs from ${other} in the slash at the end. npm run clients -- update ${slug} --add-redirect ${other}/`,
  )
  expect(await printed('disable', slug)).toBe(`Disabled ${slug}.`)
  expect(await accepts(third)).toEqual([false])
  expect((await findClient(slug))!.disabledAt).not.toBeNull()
  expect(await check(other)).toMatch(/^client_disabled: /)
  expect(await printed('list')).toContain(`${slug}  confidential  disabled since `)
  expect(await printed('enable', slug)).toBe(`Enabled ${slug}.`)
  expect(await accepts(third)).toEqual([true])
  await printed('revoke', slug, third.slice(-4))
  expect(await check(other)).toMatch(/^invalid_client: .* has no live secret/)

  expect(await printed('remove', slug)).toBe(`Removed ${slug}.`)
  expect(await findClient(slug)).toBeNull()
  for (const secret of [first, second, third])
    expect(outputs.join()).not.toContain(secret)
})

test('a public client has no secret, and any port on a loopback IP address', async () => {
  const slug = `public-${Date.now()}`
  const run = (...command: string[]) => runScript(['clients', ...command])
  const added = await run('add', slug, '--redirect', 'http://127.0.0.1/cb', '--public')
  expect(added).toMatchObject({ code: 0, stdout: '' })
  expect(added.stderr).toContain('It must use PKCE with S256. It is a public client')
  expect(await authenticateClient(slug, null)).not.toBeNull()
  expect(await authenticateClient(slug, 'any secret')).toBeNull()

  expect(await run('rotate', slug)).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('is a public client'),
  })
  const { stdout } = await run('check', slug, 'http://127.0.0.1:61023/cb')
  expect(stdout).toContain(`may be used by ${slug}.`)
  await run('remove', slug)
})

test('concurrent updates of one client all take effect', async () => {
  const slug = `busy-${Date.now()}`
  const added = { slug, isPublic: true, postLogoutRedirectUris: [], tokenMinutes: null }
  await addClient({ ...added, redirectUris: [redirect], backchannelLogoutUri: null })
  const [client] = await listClients(slug)

  const uris = [1, 2, 3, 4, 5].map((number) => `${redirect}/${number}`)
  await Promise.all(
    uris.map((uri) =>
      updateClient(client!, {
        addedRedirectUris: [uri],
        removedRedirectUris: [],
        addedPostLogoutRedirectUris: [],
        removedPostLogoutRedirectUris: [],
      }),
    ),
  )

  const { redirectUris } = (await findClient(slug))!
  expect(redirectUris.toSorted()).toEqual([redirect, ...uris])
})
