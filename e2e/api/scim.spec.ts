import { randomUUID } from 'node:crypto'
import * as routes from '../../lib/contract/routes'
import { issueResetToken } from '../../lib/password/reset'
import { createScimToken, revokeScimTokens } from '../../lib/scim/manage'
import { basePath } from '../../lib/scim/resource'
import { activateDomains } from '../../lib/sso/manage/activate'
import {
  disableConnection,
  enableConnection,
  findIssuers,
  linkUser,
} from '../../lib/sso/manage/connections'
import { disableUser, enableUser } from '../../lib/user/user'
import { openDashboard } from '../support/browsers/dashboard'
import {
  activation,
  type Directory,
  deactivation,
  errorIn,
  mediaTypes,
  newPerson,
  openDirectory,
  patchOf,
  withToken,
} from '../support/clients/directory'
import { addTestConnection } from '../support/databases/connection'
import { newPasswordUser } from '../support/databases/password-user'
import {
  exchangePath,
  expect,
  newCode,
  newPassword,
  resetPath,
  type Sql,
  type TestServer,
  test,
} from '../support/fixtures'
import { keepSecret, newAddress } from '../support/secrets'
import { allFeatures } from '../support/servers/settings'

let server: TestServer
test.beforeAll(async ({ serverWith }) => {
  const { SMTP_URL, MAIL_FROM } = allFeatures
  const mail = { SMTP_URL, MAIL_FROM }
  server = await serverWith({ SCIM: 'true', PASSWORD_SIGN_IN: 'true', ...mail })
})

const nextUrl = () => server.url
const rowsOf = (sql: Sql, { connection }: Directory) =>
  sql('SELECT user_id FROM scim_users WHERE connection_id = $1', [connection.id])
const stateOf = async (sql: Sql, id: string) =>
  (
    await sql(
      'SELECT email, disabled_at IS NULL AS active, disabled_by FROM users WHERE id = $1',
      [id],
    )
  )[0]

/** Adds a person, and returns the resource. */
async function addPerson(directory: Directory, name?: string) {
  const created = await directory.send(
    'POST',
    '/Users',
    newPerson(directory.domain, name),
  )
  expect(created.status).toBe(201)
  return created.body as { id: string; userName: string; emails: { value: string }[] }
}

test('a user who is disabled loses sessions, codes and links at once', async ({
  sql,
}) => {
  const directory = await openDirectory(nextUrl)
  const { id } = await addPerson(directory)
  const user = { id, email: '' }
  const exchange = async () =>
    (await server.post(exchangePath, { code: await newCode(user) })).body
  const [first, second] = [await exchange(), await exchange()]
  const code = await newCode(user)
  const resetToken = keepSecret((await issueResetToken(id)).secret)
  const atDashboards = []
  for (const slug of ['app', 'reports'] as const)
    atDashboards.push(
      await openDashboard(
        server.url,
        { token: first.token!, refreshToken: first.refreshToken! },
        slug,
      ),
    )

  expect((await directory.send('PATCH', `/Users/${id}`, deactivation)).status).toBe(200)

  for (const { token, refreshToken } of [first, second, ...atDashboards]) {
    const headers = { Authorization: `Bearer ${token}` }
    expect((await server.get(routes.getSession.path, headers)).status).toBe(401)
    if (token === first.token || token === second.token)
      expect(
        (await server.post(routes.refreshSession.path, { refreshToken })).status,
      ).toBe(400)
  }
  expect((await server.post(exchangePath, { code })).status).toBe(400)
  const reset = { token: resetToken, password: newPassword() }
  expect((await server.post(resetPath, reset)).status).toBe(400)
  expect(
    await sql('SELECT FROM sessions WHERE user_id = $1 AND revoked_at IS NULL', [id]),
  ).toEqual([])
  expect(await stateOf(sql, id)).toMatchObject({
    active: false,
    disabled_by: directory.connection.id,
  })
})

test('a directory never enables whom an operator has disabled', async ({ sql }) => {
  const directory = await openDirectory(nextUrl)
  const { id } = await addPerson(directory)
  const path = `/Users/${id}`
  await disableUser(id)

  const read = (await directory.send('GET', path)).body
  expect(read.active).toBe(false)
  for (const active of [true, false, true]) {
    const written = await directory.send('PUT', path, { ...read, active })
    expect([written.status, written.body.active]).toEqual([200, false])
    expect(await stateOf(sql, id)).toMatchObject({ active: false, disabled_by: null })
  }

  // the operator disables a user whom the directory has disabled
  await enableUser(id)
  await directory.send('PATCH', path, deactivation)
  await disableUser(id)
  expect((await directory.send('PATCH', path, activation)).body.active).toBe(false)
})

test('an operator enables whom a directory has disabled, until it disables again', async ({
  sql,
}) => {
  const directory = await openDirectory(nextUrl)
  const { id } = await addPerson(directory)
  const path = `/Users/${id}`
  await directory.send('PATCH', path, deactivation)
  await enableUser(id)
  expect(await stateOf(sql, id)).toMatchObject({ active: true, disabled_by: null })
  await directory.send('PATCH', path, deactivation)
  expect(await stateOf(sql, id)).toMatchObject({
    active: false,
    disabled_by: directory.connection.id,
  })
})

test('after DELETE, another POST adopts and enables the same user, and keeps the links', async ({
  sql,
}) => {
  const directory = await openDirectory(nextUrl)
  const { connection, send, domain } = directory
  const { id } = await addPerson(directory, 'ada')
  await linkUser(id, connection, { issuer: 'https://idp.example.com', subject: 'ada' })

  expect((await send('DELETE', `/Users/${id}`)).status).toBe(204)
  expect(await stateOf(sql, id)).toMatchObject({ active: false })
  expect((await send('DELETE', `/Users/${id}`)).status).toBe(404)

  const again = await send('POST', '/Users', newPerson(domain, 'ada'))
  expect([again.status, again.body.id]).toEqual([201, id])
  expect(await stateOf(sql, id)).toMatchObject({ active: true, disabled_by: null })
  expect(await findIssuers(connection.id, 'ada')).toHaveLength(1)
  const lines = await server.logged('"route":"scim"')
  expect(lines.filter(({ userId }) => userId === id).map(({ scim }) => scim)).toEqual([
    'created',
    'deleted disabled',
    'adopted enabled',
  ])
})

test('a user who exists is adopted, and only active changes', async ({ sql }) => {
  const directory = await openDirectory(nextUrl)
  const { domain, send, connection } = directory
  const user = await newPasswordUser(sql, { cost: 4, email: `grace@${domain}` })
  const before = await sql('SELECT * FROM users WHERE id = $1', [user.id])

  const adopted = await send('POST', '/Users', newPerson(domain, 'Grace'))
  expect([adopted.status, adopted.body.id]).toEqual([201, user.id])
  expect(await sql('SELECT * FROM users WHERE id = $1', [user.id])).toEqual(before)

  const bob = await newPasswordUser(sql, { cost: 4, email: `bob@${domain}` })
  const inactive = { ...newPerson(domain, 'bob'), active: 'False' }
  expect((await send('POST', '/Users', inactive)).body).toMatchObject({
    id: bob.id,
    active: false,
  })
  expect(await stateOf(sql, bob.id)).toMatchObject({ disabled_by: connection.id })
})

test('409 for a user name, an external ID or an address that is in the directory', async ({
  sql,
}) => {
  const directory = await openDirectory(nextUrl)
  const { domain, send } = directory
  const person = newPerson(domain)
  expect((await send('POST', '/Users', person)).status).toBe(201)
  const other = newPerson(domain)
  const same = [
    { ...other, userName: person.userName.toUpperCase() },
    { ...other, externalId: person.externalId },
    { ...other, emails: person.emails },
  ]
  for (const body of same)
    expect(errorIn(await send('POST', '/Users', body))).toEqual([409, 'uniqueness'])
  expect(await rowsOf(sql, directory)).toHaveLength(1)

  const { id } = (await send('POST', '/Users', other)).body
  const changes = [
    patchOf({ op: 'replace', path: 'userName', value: person.userName.toUpperCase() }),
    patchOf({ op: 'replace', path: 'externalId', value: person.externalId }),
  ]
  for (const body of changes)
    expect(errorIn(await send('PATCH', `/Users/${id}`, body))).toEqual([
      409,
      'uniqueness',
    ])
})

test('an email change renames only users who may not use a password', async ({ sql }) => {
  const directory = await openDirectory(nextUrl)
  const { domain, send } = directory
  const { id } = await addPerson(directory, 'ada')
  await addPerson(directory, 'bob')
  const code = await newCode({ id, email: '' })
  const { body: session } = await server.post(exchangePath, { code })
  const rename = (userId: string, value: string) =>
    send(
      'PATCH',
      `/Users/${userId}`,
      patchOf(
        { op: 'Replace', path: 'userName', value },
        { op: 'Replace', path: 'emails[type eq "work"].value', value },
      ),
    )

  expect((await rename(id, `Ada.Byron@${domain}`)).status).toBe(200)
  expect(await stateOf(sql, id)).toMatchObject({ email: `ada.byron@${domain}` })
  const headers = { Authorization: `Bearer ${session.token}` }
  expect((await server.get(routes.getSession.path, headers)).status).toBe(401)
  const mails = `SELECT former_email FROM mails WHERE user_id = $1 AND kind = 'email-changed' ORDER BY 1`
  expect(await sql(mails, [id])).toEqual([
    { former_email: `ada@${domain}` },
    { former_email: null },
  ])

  expect(errorIn(await rename(id, 'ada@elsewhere.example'))).toEqual([
    400,
    'invalidValue',
  ])
  expect(errorIn(await rename(id, `bob@${domain}`))).toEqual([409, 'uniqueness'])
  const owner = await newPasswordUser(sql, { cost: 4, email: `owner@${domain}` })
  expect(errorIn(await rename(id, owner.email))).toEqual([409, 'uniqueness'])

  await sql(`UPDATE users SET password_policy = 'allowed' WHERE id = $1`, [id])
  expect(errorIn(await rename(id, `countess@${domain}`))).toEqual([400, 'mutability'])
  expect(await stateOf(sql, id)).toMatchObject({ email: `ada.byron@${domain}` })
  const lines = await server.logged(directory.connection.slug)
  expect(lines.at(-1)).toMatchObject({ status: 400, check: 'scim_mutability' })

  // nothing of a rejected message is applied
  const both = patchOf(
    { op: 'replace', path: 'displayName', value: 'x' },
    { op: 'replace', path: 'emails', value: [{ value: `countess@${domain}` }] },
  )
  expect((await send('PATCH', `/Users/${id}`, both)).status).toBe(400)
  expect((await send('GET', `/Users/${id}`)).body).not.toHaveProperty('displayName')
})

test('with --allow-passwords, a directory renames nobody', async () => {
  const directory = await openDirectory(nextUrl, { allowPasswords: true })
  const { domain, send } = directory
  const { id } = await addPerson(directory)
  const value = [{ value: `other@${domain}` }]
  const body = patchOf({ op: 'replace', path: 'emails', value })
  expect(errorIn(await send('PATCH', `/Users/${id}`, body))).toEqual([400, 'mutability'])
})

test('guests, domains in trial and domains of others are out of reach', async ({
  sql,
}) => {
  const directory = await openDirectory(nextUrl)
  const { connection, domain, send } = directory
  const trial = `${randomUUID()}.example.org`
  await sql('INSERT INTO connection_domains (domain, connection_id) VALUES ($1, $2)', [
    trial,
    connection.id,
  ])
  const other = await openDirectory(nextUrl)
  const guest = await newPasswordUser(sql, { cost: 4 })
  for (const body of [
    newPerson(trial),
    newPerson(other.domain),
    newPerson('example.com', guest.email.split('@')[0]),
    { ...newPerson(domain), userName: 'ada', emails: [] },
  ])
    expect(errorIn(await send('POST', '/Users', body))).toEqual([400, 'invalidValue'])
  expect(await rowsOf(sql, directory)).toEqual([])
  const lines = (await server.logged(connection.slug)).filter(({ check }) => check)
  expect(lines).toHaveLength(4)
  for (const line of lines)
    expect(line).toMatchObject({ status: 400, check: 'scim_domain' })

  // after the domain has moved, the former directory does not find its users
  const { id } = await addPerson(directory)
  const next = await addTestConnection(domain, {
    activate: false,
    beside: connection.slug,
  })
  await activateDomains(next, { from: connection.slug })
  const methods = ['GET', 'PUT', 'PATCH', 'DELETE']
  for (const method of methods) {
    const body = { PUT: newPerson(domain), PATCH: deactivation }[method]
    expect(errorIn(await send(method, `/Users/${id}`, body))[0], method).toBe(404)
  }
  expect((await send('GET', '/Users')).body).toMatchObject({ totalResults: 0 })
  expect(await stateOf(sql, id)).toMatchObject({ active: true })
})

test('the user name is the address if there is no email in a domain', async ({ sql }) => {
  const { domain, send } = await openDirectory(nextUrl)
  const order = (emails: object[], userName: string) =>
    send('POST', '/Users', { userName: `${userName}@${domain}`, emails })
  const [home, work, primary] = ['home', 'work', 'primary'].map((name) => ({
    value: `${name}-${randomUUID()}@${domain}`,
    type: name === 'primary' ? 'other' : name,
  }))
  const cases: [object[], string | undefined][] = [
    [[home!, work!, { ...primary!, primary: true }], primary!.value],
    [[home!, work!], work!.value],
    [[home!], home!.value],
    [[{ value: 'ada@example.net', type: 'work' }], undefined],
    [[], undefined],
  ]
  for (const [emails, expected] of cases) {
    const name = randomUUID()
    const { body } = await order(emails, name)
    expect(await stateOf(sql, body.id)).toMatchObject({
      email: expected ?? `${name}@${domain}`,
    })
  }
})

test('401 without a live token, and 403 for a disabled connection, without an effect', async ({
  sql,
}) => {
  const directory = await openDirectory(nextUrl)
  const { connection, token, send } = directory
  const { id } = await addPerson(directory)
  const checkOf = async (response: { headers: Headers }) =>
    (await server.logged(response.headers.get('x-request-id')!)).map(({ check }) => check)

  const rotated = keepSecret(await createScimToken(connection, 3_600))
  for (const each of [token, rotated])
    expect((await withToken(nextUrl, each)('GET', `/Users/${id}`)).status).toBe(200)
  await sql(
    `UPDATE scim_tokens SET expires_at = now() WHERE connection_id = $1 AND expires_at IS NOT NULL`,
    [connection.id],
  )
  const expired = await send('GET', '/Users')
  await revokeScimTokens(connection, rotated.slice(-4))
  const revoked = await withToken(nextUrl, rotated)('PATCH', `/Users/${id}`, deactivation)
  const made = await withToken(nextUrl, 'made-up')('GET', '/Users')
  const none = await send('GET', '/Users', undefined, { Authorization: '' })
  const rejected = {
    token_expired: expired,
    token_revoked: revoked,
    token_unknown: made,
    token_missing: none,
  }
  for (const [check, response] of Object.entries(rejected)) {
    expect(errorIn(response)[0]).toBe(401)
    expect(response.headers.get('www-authenticate')).toBe('Bearer')
    expect(await checkOf(response)).toEqual([check])
  }

  const live = keepSecret(await createScimToken(connection, 0))
  await disableConnection(connection)
  const disabled = await withToken(nextUrl, live)('PATCH', `/Users/${id}`, deactivation)
  expect(errorIn(disabled)[0]).toBe(403)
  expect(await checkOf(disabled)).toEqual(['connection'])
  expect(await stateOf(sql, id)).toMatchObject({ active: true })
  await enableConnection(connection)
  expect((await withToken(nextUrl, live)('GET', `/Users/${id}`)).status).toBe(200)
})

test('the token of another connection finds no user', async () => {
  const [directory, other] = [await openDirectory(nextUrl), await openDirectory(nextUrl)]
  const { id } = await addPerson(directory)
  for (const method of ['GET', 'PATCH', 'DELETE']) {
    const body = method === 'PATCH' ? deactivation : undefined
    expect(errorIn(await other.send(method, `/Users/${id}`, body))[0]).toBe(404)
  }
})

test('lists pages in the order in which users were added, and filters', async () => {
  const directory = await openDirectory(nextUrl)
  const { domain, send } = directory
  const ids: string[] = []
  for (let index = 0; index < 5; index++) ids.push((await addPerson(directory)).id)
  const list = async (query: string) => {
    const { status, body } = await send('GET', `/Users?${query}`)
    expect(status).toBe(200)
    const found = body.Resources.map(({ id }: { id: string }) => id)
    return [body.totalResults, body.startIndex, body.itemsPerPage, found]
  }

  expect(await list('')).toEqual([5, 1, 5, ids])
  expect(await list('startIndex=1&count=2')).toEqual([5, 1, 2, ids.slice(0, 2)])
  expect(await list('startIndex=3&count=2')).toEqual([5, 3, 2, ids.slice(2, 4)])
  expect(await list('startIndex=9&count=2')).toEqual([5, 9, 0, []])
  expect(await list('startIndex=-3&count=1000')).toEqual([5, 1, 5, ids])
  expect(await list('count=0')).toEqual([5, 1, 0, []])
  for (const query of ['count=x', 'startIndex=1.5'])
    expect(errorIn(await send('GET', `/Users?${query}`))).toEqual([400, 'invalidValue'])

  const { body: ada } = await send('POST', '/Users', newPerson(domain, 'ada'))
  const filters: [string, number][] = [
    [`userName eq "ADA@${domain}"`, 1],
    [`emails.value eq "Ada@${domain}"`, 1],
    [`emails[type eq "work"].value eq "ada@${domain}"`, 1],
    [`externalId eq "${ada.externalId}"`, 1],
    [`externalId eq "${ada.externalId.toUpperCase()}"`, 0],
    [`id eq "${ada.id}"`, 1],
    [`id eq "x"`, 0],
    [`id eq "${ada.id}" and userName eq "ada@${domain}"`, 1],
    [`id eq "${ada.id}" and userName eq "bob@${domain}"`, 0],
    [`userName eq "a\\u0000b"`, 0],
  ]
  for (const [filter, count] of filters) {
    const [total] = await list(`filter=${encodeURIComponent(filter)}`)
    expect(total, filter).toBe(count)
  }
  for (const filter of ['title eq "x"', 'userName co "a"', 'userName eq 7', ''])
    expect(
      errorIn(await send('GET', `/Users?filter=${encodeURIComponent(filter)}`)),
      filter,
    ).toEqual([400, 'invalidFilter'])
})

test('rejects wrong methods, media types, sizes and JSON as SCIM errors', async () => {
  const directory = await openDirectory(nextUrl)
  const { domain, send } = directory
  const person = newPerson(domain)
  for (const type of mediaTypes) {
    const headers = { 'Content-Type': `${type}; charset=utf-8` }
    const created = await send('POST', '/Users', newPerson(domain), headers)
    expect(created.status).toBe(201)
  }
  const form = { 'Content-Type': 'application/x-www-form-urlencoded' }
  expect(errorIn(await send('POST', '/Users', person, form))[0]).toBe(415)
  const large = { ...person, title: 'x'.repeat(17 * 1024) }
  expect(errorIn(await send('POST', '/Users', large))[0]).toBe(413)
  for (const [method, path] of [
    ['DELETE', '/Users'],
    ['POST', `/Users/${randomUUID()}`],
    ['POST', '/Schemas'],
  ] as const)
    expect(errorIn(await send(method, path))[0]).toBe(405)
  const options = await send('OPTIONS', '/Users')
  expect([options.status, options.headers.get('allow')]).toEqual([
    405,
    'GET, POST, PUT, PATCH, DELETE',
  ])

  const broken = await fetch(`${server.url}${basePath}/Users`, {
    method: 'POST',
    headers: {
      Authorization: `Bearer ${directory.token}`,
      'Content-Type': mediaTypes[0]!,
      'X-Forwarded-For': newAddress(),
    },
    body: '{',
  })
  expect([broken.status, broken.headers.get('content-type')]).toEqual([
    400,
    mediaTypes[0],
  ])
})

test('the log has no names and no addresses', async () => {
  const directory = await openDirectory(nextUrl)
  const { domain, send } = directory
  const name = `ada-${randomUUID()}`
  const { id } = await addPerson(directory, name)
  await send('PATCH', `/Users/${id}`, deactivation)
  await send('GET', `/Users?filter=${encodeURIComponent(`userName eq "${name}"`)}`)
  const lines = await server.logged(directory.connection.slug)
  expect(lines).toHaveLength(3)
  expect(lines[1]).toMatchObject({
    route: 'scim',
    method: 'PATCH',
    userId: id,
    scim: 'disabled',
    connection: directory.connection.slug,
  })
  expect(JSON.stringify(lines)).not.toMatch(new RegExp(`${name}|${domain}|Byron`))
})

test('without SCIM=true, the paths do not exist', async ({ serverWith }) => {
  const directory = await openDirectory(nextUrl)
  const off = await serverWith()
  const response = await off.fetch(`${basePath}/Users`, {
    headers: { Authorization: `Bearer ${directory.token}` },
  })
  expect([response.status, (await response.json()).code]).toEqual([404, 'NOT_FOUND'])
})
