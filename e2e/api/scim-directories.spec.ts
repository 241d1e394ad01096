import { randomUUID } from 'node:crypto'
import { type Directory, openDirectory, userSchema } from '../support/clients/directory'
import { expect, type Sql, type TestServer, test } from '../support/fixtures'
import { keepSecret } from '../support/secrets'
import { allFeatures } from '../support/servers/settings'

// The requests that Okta and Entra ID document, in their order, with their effect.
// Okta: its SPEC test (Okta-SCIM-20-SPEC-Test.json) and its SCIM 2.0 reference.
// Entra ID: “Develop and plan provisioning for a SCIM endpoint”, and the samples of its
// known issues with the protocol, with and without the flag aadOptscim062020.

let server: TestServer
test.beforeAll(async ({ serverWith }) => {
  server = await serverWith(allFeatures)
})

const listSchema = 'urn:ietf:params:scim:api:messages:2.0:ListResponse'
const patchSchema = 'urn:ietf:params:scim:api:messages:2.0:PatchOp'
const enterprise = 'urn:ietf:params:scim:schemas:extension:enterprise:2.0:User'

/** Returns what the database has of a user of a directory. */
async function stored(sql: Sql, { connection }: Directory, userId: string) {
  const [row] = await sql(
    `SELECT email, disabled_at IS NULL AS active, disabled_by = $1 AS "byDirectory", user_name AS "userName",
       external_id AS "externalId", given_name AS "givenName", family_name AS "familyName", display_name AS "displayName",
       password_hash AS "passwordHash"
     FROM users LEFT JOIN scim_users ON user_id = users.id AND connection_id = $1 WHERE users.id = $2`,
    [connection.id, userId],
  )
  return row
}

test('Okta: its SPEC test passes, and has its effect in the database', async ({
  sql,
}) => {
  const directory = await openDirectory(() => server.url)
  const { domain } = directory
  const asOkta = {
    'User-Agent': 'OKTA SCIM Integration',
    Accept: 'application/scim+json',
    'Accept-Charset': 'utf-8',
  }
  const get = (path: string) =>
    directory.send('GET', path, undefined, {
      ...asOkta,
      'Content-Type': 'application/scim+json; charset=utf-8',
    })
  const post = (body: object) =>
    directory.send('POST', '/Users', body, {
      Accept: 'application/scim+json; charset=utf-8',
      'Content-Type': 'application/json',
    })
  const person = (name: string, email: string) => ({
    schemas: [userSchema],
    userName: name,
    name: { givenName: 'Okta', familyName: 'Test' },
    emails: [{ primary: true, value: email, type: 'work' }],
    displayName: 'Okta Test',
    active: true,
  })
  // the test needs one user
  const [first] = [`first@${domain}`]
  expect((await post(person(first!, first!))).status).toBe(201)

  const users = await get('/Users?count=1&startIndex=1')
  expect(users.status).toBe(200)
  expect(users.body).toEqual({
    schemas: [listSchema],
    itemsPerPage: 1,
    startIndex: 1,
    totalResults: 1,
    Resources: [expect.anything()],
  })
  const [resource] = users.body.Resources
  expect(resource).toMatchObject({
    id: expect.any(String),
    name: { familyName: 'Test', givenName: 'Okta' },
    userName: first,
    active: true,
    emails: [{ value: first }],
  })
  const known = await get(`/Users/${resource.id}`)
  expect([known.status, known.body]).toEqual([200, resource])

  const filter = (userName: string) =>
    get(`/Users?filter=${encodeURIComponent(`userName eq "${userName}"`)}`)
  const invalid = await filter('abcdefgh@example.com')
  expect([invalid.status, invalid.body.schemas, invalid.body.totalResults]).toEqual([
    200,
    [listSchema],
    0,
  ])
  const missing = await get('/Users/010101001010101011001010101011')
  expect([missing.status, missing.body.schemas, missing.body.detail]).toEqual([
    404,
    ['urn:ietf:params:scim:api:messages:2.0:Error'],
    expect.any(String),
  ])

  const email = `Runscope300${randomUUID().slice(0, 8)}@${domain}`
  expect((await filter(email)).body).toMatchObject({ totalResults: 0, Resources: [] })
  const created = await post(person(email, email))
  expect(created.status).toBe(201)
  expect(created.body).toMatchObject({
    schemas: [userSchema],
    userName: email,
    active: true,
    name: { familyName: 'Test', givenName: 'Okta' },
  })
  const { id } = created.body
  expect(await stored(sql, directory, id)).toMatchObject({
    email: email.toLowerCase(),
    active: true,
    userName: email,
    familyName: 'Test',
    displayName: 'Okta Test',
  })
  const verified = await get(`/Users/${id}`)
  expect([verified.status, verified.body]).toEqual([200, created.body])

  const again = await post(person(email, email))
  expect([again.status, again.body.scimType]).toEqual([409, 'uniqueness'])
  const inCapitals = await filter(email.toUpperCase())
  expect(inCapitals.body.Resources).toEqual([created.body])
  expect((await get('/Groups')).body).toMatchObject({ totalResults: 0, Resources: [] })

  const wrong = await directory.send('GET', '/Users?count=1', undefined, {
    Authorization: 'Bearer not-the-token',
  })
  expect([wrong.status, wrong.headers.get('www-authenticate')]).toEqual([401, 'Bearer'])
})

test('Okta: creates with a password, reads, modifies, writes back, deactivates and activates', async ({
  sql,
}) => {
  const directory = await openDirectory(() => server.url)
  const { domain, send } = directory
  const email = `test.user@${domain}`
  const password = keepSecret(`1mz050nq-${randomUUID()}`)
  const asOkta = { 'User-Agent': 'Okta SCIM Client 1.0.0' }
  const search = `/Users?filter=${encodeURIComponent(`userName eq "${email}"`)}&startIndex=1&count=100`
  expect((await send('GET', search, undefined, asOkta)).body).toEqual({
    schemas: [listSchema],
    totalResults: 0,
    startIndex: 1,
    itemsPerPage: 0,
    Resources: [],
  })

  const created = await send(
    'POST',
    '/Users',
    {
      schemas: [userSchema],
      userName: email,
      name: { givenName: 'Test', familyName: 'User' },
      emails: [{ primary: true, value: email, type: 'work' }],
      displayName: 'Test User',
      locale: 'en-US',
      externalId: '00ujl29u0le5T6Aj10h7',
      groups: [],
      password,
      active: true,
    },
    asOkta,
  )
  expect(created.status).toBe(201)
  expect(created.headers.get('location')).toBe(created.body.meta.location)
  expect(JSON.stringify(created.body)).not.toContain(password)
  const { id } = created.body
  const path = `/Users/${id}`
  expect(await stored(sql, directory, id)).toMatchObject({
    email,
    externalId: '00ujl29u0le5T6Aj10h7',
    passwordHash: null,
  })

  const read = (await send('GET', path, undefined, asOkta)).body
  const name = { givenName: 'Another', middleName: 'Excited', familyName: 'User' }
  const written = await send('PUT', path, { ...read, name, groups: [] }, asOkta)
  expect([written.status, written.body.name]).toEqual([
    200,
    { formatted: 'Another User', givenName: 'Another', familyName: 'User' },
  ])
  expect(await stored(sql, directory, id)).toMatchObject({
    givenName: 'Another',
    displayName: 'Test User',
    externalId: '00ujl29u0le5T6Aj10h7',
    active: true,
  })

  const patch = (active: boolean) => ({
    schemas: [patchSchema],
    Operations: [{ op: 'replace', value: { active } }],
  })
  const ways: [string, (active: boolean) => object][] = [
    ['PATCH', patch],
    ['PUT', (active) => ({ ...written.body, active })],
  ]
  for (const [method, bodyOf] of ways)
    for (const active of [false, true]) {
      const changed = await send(method, path, bodyOf(active), asOkta)
      expect([changed.status, changed.body.active], method).toEqual([200, active])
      expect(await stored(sql, directory, id)).toMatchObject({
        active,
        byDirectory: active ? null : true,
      })
    }
})

test('Entra ID: its samples pass in order, and have their effect in the database', async ({
  sql,
}) => {
  const directory = await openDirectory(() => server.url)
  const { domain, send } = directory
  // the flag is a part of the URL that Entra ID calls
  const flag = 'aadOptscim062020'
  const search = (name: string) =>
    send('GET', `/Users?${flag}&filter=${encodeURIComponent(`userName eq "${name}"`)}`)
  expect((await search('non-existent user')).body).toMatchObject({
    schemas: [listSchema],
    totalResults: 0,
    Resources: [],
    startIndex: 1,
  })

  const userName = `Test_User_${randomUUID()}`
  const email = `Test_User_${randomUUID()}@${domain}`
  const externalId = randomUUID()
  const created = await send('POST', '/Users', {
    schemas: [userSchema, enterprise],
    externalId,
    userName,
    active: true,
    emails: [{ primary: true, type: 'work', value: email }],
    meta: { resourceType: 'User' },
    name: { formatted: 'givenName familyName', familyName: 'familyName', givenName: 'x' },
    roles: [],
    [enterprise]: { employeeNumber: '7' },
  })
  expect(created.status).toBe(201)
  const { id } = created.body
  const path = `/Users/${id}`
  expect(await stored(sql, directory, id)).toMatchObject({
    email: email.toLowerCase(),
    userName,
    externalId,
    active: true,
  })
  expect((await send('GET', path)).body).toEqual(created.body)
  expect((await send('GET', '/Users/5171a35d82074e068ce2')).status).toBe(404)
  expect((await search(userName)).body).toMatchObject({
    totalResults: 1,
    Resources: [created.body],
  })
  const byEmail = encodeURIComponent(`emails[type eq "work"].value eq "${email}"`)
  expect((await send('GET', `/Users?filter=${byEmail}`)).body.totalResults).toBe(1)

  const patch = (...operations: object[]) =>
    send('PATCH', path, { schemas: [patchSchema], Operations: operations })
  const updated = `updatedEmail${randomUUID()}@${domain}`
  const multi = await patch(
    { op: 'Replace', path: 'emails[type eq "work"].value', value: updated },
    { op: 'Replace', path: 'name.familyName', value: 'updatedFamilyName' },
  )
  expect([multi.status, multi.body.emails]).toEqual([
    200,
    [{ value: updated.toLowerCase(), type: 'work', primary: true }],
  ])
  expect(await stored(sql, directory, id)).toMatchObject({
    email: updated.toLowerCase(),
    familyName: 'updatedFamilyName',
  })

  const renamed = `${randomUUID()}@${domain}`
  const single = await patch({ op: 'Replace', path: 'userName', value: renamed })
  expect([single.status, single.body.userName]).toEqual([200, renamed])
  // only another email address changes the address of the user
  expect(await stored(sql, directory, id)).toMatchObject({
    userName: renamed,
    email: updated.toLowerCase(),
  })

  for (const value of ['False', false])
    for (const op of ['Replace', 'replace']) {
      expect((await patch({ op, path: 'active', value })).body.active).toBe(false)
      expect(await stored(sql, directory, id)).toMatchObject({
        active: false,
        byDirectory: true,
      })
      expect((await patch({ op: 'Add', path: 'active', value: 'True' })).status).toBe(200)
      expect(await stored(sql, directory, id)).toMatchObject({ active: true })
    }

  const before = await stored(sql, directory, id)
  for (const op of ['Add', 'add'])
    expect((await patch({ op, path: 'nickName', value: 'Babs' })).status).toBe(200)
  expect(await stored(sql, directory, id)).toEqual(before)

  const several = await patch(
    { op: 'Replace', path: 'displayName', value: 'Pvlo' },
    { op: 'Replace', path: 'emails[type eq "work"].value', value: `pvlo@${domain}` },
    { op: 'Replace', path: 'name.givenName', value: 'Gtfd' },
    { op: 'Replace', path: 'name.familyName', value: 'Pkqf' },
    { op: 'Replace', path: 'externalId', value: 'Eqpj' },
    { op: 'Replace', path: `${enterprise}:employeeNumber`, value: 'Eqpj' },
  )
  expect(several.status).toBe(200)
  expect(await stored(sql, directory, id)).toMatchObject({
    email: `pvlo@${domain}`,
    ...{ displayName: 'Pvlo', givenName: 'Gtfd', familyName: 'Pkqf', externalId: 'Eqpj' },
  })
  const withFlag = await patch(
    { op: 'replace', path: 'emails[type eq "work"].value', value: `bjfe@${domain}` },
    {
      op: 'replace',
      value: {
        displayName: 'Bjfe',
        'name.givenName': 'Kkom',
        'name.familyName': 'Unua',
        [`${enterprise}:employeeNumber`]: 'Aklq',
      },
    },
  )
  expect(withFlag.status).toBe(200)
  expect(await stored(sql, directory, id)).toMatchObject({
    email: `bjfe@${domain}`,
    ...{ displayName: 'Bjfe', givenName: 'Kkom', familyName: 'Unua', externalId: 'Eqpj' },
  })

  expect((await send('DELETE', path)).status).toBe(204)
  expect(await stored(sql, directory, id)).toMatchObject({
    ...{ email: `bjfe@${domain}`, active: false, byDirectory: true, userName: null },
  })
  expect((await send('GET', path)).status).toBe(404)

  const groups = '/Groups?excludedAttributes=members&filter=displayName eq "displayName"'
  expect((await send('GET', groups)).body).toMatchObject({ totalResults: 0 })
  for (const method of ['POST', 'PATCH', 'DELETE'])
    expect((await send(method, '/Groups', { displayName: 'x' })).status).toBe(501)

  const schemas = (await send('GET', '/Schemas')).body
  expect(schemas).toMatchObject({ schemas: [listSchema], totalResults: 1 })
  const described = await send('GET', `/Schemas/${userSchema}`)
  expect(described.body).toEqual(schemas.Resources[0])
})

test('describes itself', async () => {
  const { send } = await openDirectory(() => server.url)
  const config = await send('GET', '/ServiceProviderConfig')
  expect(config.body).toMatchObject({
    patch: { supported: true },
    filter: { supported: true, maxResults: 100 },
    ...Object.fromEntries(
      ['bulk', 'sort', 'etag', 'changePassword'].map((each) => [
        each,
        { supported: false },
      ]),
    ),
    authenticationSchemes: [{ type: 'oauthbearertoken' }],
  })
  const types = await send('GET', '/ResourceTypes')
  expect(types.body.Resources).toMatchObject([{ id: 'User', endpoint: '/Users' }])
  expect((await send('GET', '/ResourceTypes/User')).body).toEqual(types.body.Resources[0])
  for (const path of ['/ResourceTypes/Group', '/Schemas/x', '/Me', '/Users/x/y', '/Bulk'])
    expect((await send('GET', path)).status, path).toBe(404)
})
