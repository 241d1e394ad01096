import { randomBytes, randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { bindingOf, sealSecrets } from '../../lib/sso/sealed-secrets'
import type { OidcSettings } from '../../lib/sso/settings'
import { startBreakablePostgres } from '../support/breakable-postgres'
import { eventLoopDuring, withEventLoopProbe } from '../support/event-loop'
import { exchangePath, expect, newAddress, postTo, test } from '../support/fixtures'
import { clientSecret, startProvider, Visitor } from '../support/oidc-provider'
import { newSamlProvider } from '../support/saml-provider'
import { type Begun, connectSaml, responseTo, SamlVisitor } from '../support/saml-visitor'
import { freePort, type Server, startServer } from '../support/server'

const logins = 200
const atOnce = 50

test('200 sign-ins through two servers while PostgreSQL restarts: no attempt counts twice, no session without one', async () => {
  test.setTimeout(600_000)
  const postgres = await startBreakablePostgres()
  const provider = await startProvider({
    // a new person each time
    claims: (genuine) => {
      const sub = randomBytes(8).toString('hex')
      return { ...genuine, sub, email: `${sub}@login.example` }
    },
  })
  const PUBLIC_URL = `http://localhost:${await freePort()}` // one origin for both, as behind a proxy
  const servers = await Promise.all(
    [1, 2].map(() => startServer({ DATABASE_URL: postgres.url, PUBLIC_URL, LOG_LEVEL: 'error' })),
  )
  await addConnectionTo(postgres.sql, { kind: 'oidc', issuer: provider.issuer, clientId: 'the-client' })

  const codesOfState = new Map<string, number>()
  const errors: Record<string, number> = {}
  let successes = 0
  /** Signs in once: starts at one server, opens the callback at both at once, and exchanges the code at one. */
  const signIn = async (): Promise<boolean> => {
    const visitor = new Visitor(servers[successes % 2]!.url)
    const authorization = await visitor.start('acme')
    const state = authorization.searchParams.get('state')
    if (!state) return failed(authorization)
    const { pathname, search } = await visitor.authorize(authorization)
    const landings = await Promise.all(servers.map(({ url }) => visitor.open(new URL(pathname + search, url).href)))
    const codes = landings.flatMap((landing) => landing.searchParams.get('code') ?? [])
    codesOfState.set(state, (codesOfState.get(state) ?? 0) + codes.length)
    if (codes.length === 0) return failed(landings[0]!)
    const cookie = { 'X-Forwarded-For': newAddress(), Cookie: `browser=${visitor.cookies.get('browser')}` }
    for (let attempt = 0; attempt < 20; attempt++) {
      const { status } = await postTo(servers[attempt % 2]!.url + exchangePath, { code: codes[0] }, cookie)
      if (status !== 503) return status === 200
      await sleep(250)
    }
    return false
  }
  const failed = ({ searchParams }: URL) => {
    const error = searchParams.get('error')!
    errors[error] = (errors[error] ?? 0) + 1
    return false
  }
  const restart = async (stop: () => unknown) => {
    await stop()
    await sleep(500)
    await postgres.restart()
  }
  const events: Record<number, () => Promise<unknown>> = {
    40: () => restart(postgres.kill),
    90: () => restart(postgres.shutDown),
    140: () => restart(postgres.kill),
  }
  let event: Promise<unknown> = Promise.resolve()
  const client = async () => {
    while (successes < logins) {
      if (!(await signIn())) await sleep(250)
      else event = event.then(events[++successes])
    }
  }
  await Promise.all(Array.from({ length: atOnce }, client))
  await event
  console.log(`${successes} sign-ins, errors: ${JSON.stringify(errors)}`)

  expect(Math.max(...codesOfState.values())).toBe(1)
  expect(errors.unavailable).toBeGreaterThan(0) // PostgreSQL was away for some
  const [counts] = await postgres.sql(`
    SELECT (SELECT count(*) FROM sessions)::int AS sessions,
      (SELECT count(*) FROM exchange_codes WHERE used_at IS NOT NULL)::int AS "usedCodes",
      (SELECT count(*) FROM exchange_codes)::int <= (SELECT count(*) FROM sign_ins WHERE claimed_at IS NOT NULL)::int
        AS "hasAttempts",
      (SELECT count(*) FROM exchange_codes AS code WHERE NOT EXISTS (
        SELECT FROM sign_ins WHERE browser_hash = code.browser_hash AND claimed_at IS NOT NULL))::int AS "withoutAttempt",
      (SELECT count(*) FROM users)::int - (SELECT count(*) FROM identities)::int AS "usersWithoutIdentity"`)
  expect(counts).toEqual({
    sessions: counts!.usedCodes,
    usedCodes: counts!.usedCodes,
    hasAttempts: true,
    withoutAttempt: 0,
    usersWithoutIdentity: 0,
  })
  expect(counts!.sessions).toBeGreaterThanOrEqual(logins)
  await Promise.all(servers.map((server) => server.stop()))
  await provider.stop()
  await postgres.stop()
})

/** Adds the connection `acme` to a database other than that of the tests. */
async function addConnectionTo(
  sql: (text: string, values?: unknown[]) => Promise<unknown>,
  settings: OidcSettings,
): Promise<void> {
  const id = randomUUID()
  const { kind, ...stored } = settings
  await sql(
    `INSERT INTO connections (id, slug, name, kind, settings, sealed_secrets, provision)
     VALUES ($1, 'acme', 'Acme', $2, $3, $4, true)`,
    [id, kind, stored, await sealSecrets({ clientSecret }, bindingOf({ id, settings }))],
  )
  await sql(`INSERT INTO connection_domains VALUES ('login.example', $1)`, [id])
}

test('100 SAML bombs at once block the event loop little more than requests of their size', async () => {
  const server = await startServer({ ...withEventLoopProbe, LOG_LEVEL: 'error' })
  const provider = await newSamlProvider()
  const slug = await connectSaml(provider, server.url)
  const encoded = (xml: string) => Buffer.from(xml).toString('base64')
  const bombs = {
    '15,000 elements': encoded(`<a>${'<a></a>'.repeat(15_000)}</a>`),
    '256 KiB of attributes': encoded(`<a ${Array.from({ length: 17_000 }, (_, index) => `a${index}="b"`).join(' ')}/>`),
  }
  for (const [what, bomb] of Object.entries(bombs)) {
    /** The longest turn of the event loop during 100 posts of the bomb at once. */
    const longestTurn = async (send: (index: number) => Promise<unknown>) => {
      const reading = await eventLoopDuring(server, () =>
        Promise.all(Array.from({ length: 100 }, (_, index) => send(index))),
      )
      return reading.longestTurnMs
    }
    const turns: Record<'bombs' | 'control', number[]> = { bombs: [], control: [] }
    for (let round = 0; round < 4; round++) {
      const visitors = Array.from({ length: 100 }, () => new SamlVisitor(server.url))
      const begun: Awaited<ReturnType<SamlVisitor['begin']>>[] = []
      for (const visitor of visitors) begun.push(await visitor.begin(slug)) // all at once, some would be told to retry
      const control = await longestTurn((index) => postForm(server, '/api/nothing', bomb, begun[index]!.relayState))
      turns.control.push(control)
      const landings: (string | null)[] = []
      const bombed = await longestTurn(async (index) => {
        landings.push((await visitors[index]!.deliver(begun[index]!, bomb)).searchParams.get('error'))
      })
      turns.bombs.push(bombed)
      expect(new Set(landings)).toEqual(new Set(['response_invalid']))
    }
    const least = (values: number[]) => Math.min(...values)
    console.log(`${what}: ${turns.bombs.map(Math.round)} ms, control ${turns.control.map(Math.round)} ms`)
    expect(least(turns.bombs)).toBeLessThan(3 * least(turns.control))
  }
  await server.stop()
})

test('large SAML responses with a genuine signature leave half of the event loop to others', async () => {
  const server = await startServer({ LOG_LEVEL: 'error' })
  const provider = await newSamlProvider()
  const slug = await connectSaml(provider, server.url)
  // Whoever has an account can have their provider sign as many as they like.
  const edit = (xml: string) => xml.replace('</saml:AttributeStatement>', `${filler}</saml:AttributeStatement>`)
  const signed: { visitor: SamlVisitor; begun: Begun; response: string }[] = []
  for (let index = 0; index < 24; index++) {
    const visitor = new SamlVisitor(server.url)
    const begun = await visitor.begin(slug)
    const response = responseTo(provider, begun, { assertion: true, edit })
    expect(Buffer.from(response, 'base64').toString()).toContain(filler)
    signed.push({ visitor, begun, response })
  }
  let ended = 0
  const landings = signed.map(async ({ visitor, begun, response }) => {
    const landing = await visitor.deliver(begun, response)
    ended++
    return landing.searchParams.get('error')
  })
  // Another client asks again and again. Without pauses, its requests get a turn for several responses each.
  let served = 0
  for (const address = newAddress(); ended < signed.length; served++)
    await (await fetch(`${server.url}/api/health`, { headers: { 'X-Forwarded-For': address } })).text()
  expect(new Set(await Promise.all(landings))).toEqual(new Set([null])) // signed in
  console.log(`${served} requests of another client during ${signed.length} verifications`)
  expect(served).toBeGreaterThan(3 * signed.length)
  await server.stop()
})

test('a form for the ACS that a stranger fills costs little more than a small one', async () => {
  const server = await startServer({ ...withEventLoopProbe, LOG_LEVEL: 'error' })
  const slug = await connectSaml(await newSamlProvider(), server.url)
  /** The CPU time of 20 posts, in milliseconds. */
  const cost = async (body: Buffer) => {
    const reading = await eventLoopDuring(server, async () => {
      for (let count = 0; count < 20; count++) {
        const headers = { 'X-Forwarded-For': newAddress(), 'Content-Type': 'application/x-www-form-urlencoded' }
        const url = `${server.url}/api/auth/sso/${slug}/acs`
        expect(
          (await fetch(url, { method: 'POST', headers, body: new Uint8Array(body), redirect: 'manual' })).status,
        ).toBe(303)
      }
    })
    return reading.cpuMs
  }
  const forms: Record<string, [start: string, filler: string | Buffer]> = {
    'plus signs': ['SAMLResponse=', '+'],
    'fields without names': ['SAMLResponse=', Buffer.from([0xff, 0x26])],
    'a long RelayState': ['RelayState=', '%2B'],
    'an unknown RelayState': [`RelayState=${'A'.repeat(43)}&SAMLResponse=`, '+'],
  }
  for (const [what, [start, filler]] of Object.entries(forms)) {
    const small = Buffer.from(start)
    const large = Buffer.concat([small, Buffer.alloc(350 * 1024 - start.length, filler)])
    for (const form of [small, large]) await cost(form) // warm-up
    const ratios: number[] = []
    for (let round = 0; round < 5; round++) ratios.push((await cost(large)) / (await cost(small)))
    console.log(`${what}: ${ratios.map((ratio) => ratio.toFixed(1)).join(', ')} times the cost of a small form`)
    expect(ratios.sort((a, b) => a - b)[2], what).toBeLessThan(2.4)
  }
  await server.stop()
})

// As many elements as are accepted, within as many namespaces as one may declare: slow to canonicalize.
const declarations = (depth: number) =>
  Array.from({ length: 31 }, (_, index) => `xmlns:n${depth}x${index}="u:${depth}:${index}"`).join(' ')
const filler = `<saml:Attribute Name="z"><saml:AttributeValue>${Array.from({ length: 18 }, (_, depth) => `<e ${declarations(depth)}>`).join('')}${'<f/>'.repeat(900)}${'</e>'.repeat(18)}</saml:AttributeValue></saml:Attribute>`

function postForm({ url }: Server, path: string, response: string, relayState: string): Promise<unknown> {
  return fetch(url + path, {
    method: 'POST',
    headers: { 'X-Forwarded-For': newAddress() },
    body: new URLSearchParams({ SAMLResponse: response, RelayState: relayState }),
  }).then((answer) => answer.arrayBuffer())
}
