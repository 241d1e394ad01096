import {
  newSigningKeys,
  parseIdTokenKeys,
  parseSigningKeys,
} from '../../lib/settings/signing-keys'
import { expect, test } from '../support/fixtures'
import {
  type Gateway,
  startApacheGateway,
  startHaproxy,
} from '../support/verifiers/gateways'
import { startGo, startScript, type Verifier } from '../support/verifiers/languages'
import {
  type Issuer,
  invalidTokens,
  nowSeconds,
  signSession,
  startIssuer,
} from '../support/verifiers/session-jwts'

// Runs the recipes of docs/verify.md.

type Start = (issuer: Issuer) => Promise<Verifier>

const scripts = { PyJWT: 'python', 'ruby-jwt': 'ruby', 'Crypt::JWT': 'perl' } as const
/** The seconds that recipes wait before they read the keys again. */
const [knownKid, unknownKid] = ['600', ' 30']

const languages: Record<string, Start> = {
  ...Object.fromEntries(
    Object.entries(scripts).map(([name, language]) => [
      name,
      ({ url }: Issuer) => startScript(language, url),
    ]),
  ),
  'go-oidc': ({ url }) => startGo(url),
}
const verifiers: Record<string, Start> = {
  ...languages,
  mod_oauth2: ({ url }) => startApacheGateway(url),
  HAProxy: startHaproxy,
}

const stops: (() => Promise<void>)[] = []
test.afterEach(async () => {
  for (const stop of stops.splice(0).toReversed()) await stop()
})

/** Stops something after the test. */
function stopLater<Started extends { stop: () => Promise<void> }>(started: Started) {
  stops.push(started.stop)
  return started
}

for (const [name, start] of Object.entries(verifiers)) {
  test(`${name}: accepts only session JWTs`, async () => {
    const issuer = stopLater(await startIssuer())
    const { verify } = stopLater(await start(issuer))
    expect(await verify(signSession(issuer))).toBe('ada')
    expect(await verify(signSession(issuer, { client_id: 'app' }))).toBe('ada')

    const accepted: string[] = []
    for (const [problem, token] of Object.entries(invalidTokens(issuer)))
      if ((await verify(token)) !== null) accepted.push(problem)
    expect(accepted).toEqual([])
    expect(await verify(signSession(issuer))).toBe('ada')
  })

  test(`${name}: accepts a JWT from a clock that is 2 seconds ahead`, async () => {
    const issuer = stopLater(await startIssuer())
    const { verify } = stopLater(await start(issuer))
    for (let round = 0; round < 3; round++)
      expect(await verify(signSession(issuer, { iat: nowSeconds() + 2 }))).toBe('ada')
  })
}

for (const [name, start] of Object.entries(languages))
  test(`${name}: accepts no other algorithm, even if the issuer publishes a key for it`, async () => {
    const issuer = stopLater(await startIssuer())
    const rsaKeys = parseIdTokenKeys(newSigningKeys('RS256'))
    issuer.published.keys.push(...rsaKeys.published)
    const { verify } = stopLater(await start(issuer))
    expect(await verify(signSession(issuer))).toBe('ada')
    expect(await verify(signSession(issuer, {}, rsaKeys))).toBeNull()
  })

/** Expects that a verifier accepts a new key, and then rejects the one it has replaced. */
async function expectNewKey(issuer: Issuer, { verify }: Verifier): Promise<void> {
  expect(await verify(signSession(issuer))).toBe('ada')

  const next = parseSigningKeys(newSigningKeys())
  issuer.published.keys = next.published
  expect(await verify(signSession(issuer, {}, next))).toBe('ada')
  expect(await verify(signSession(issuer)), 'the removed key').toBeNull()
}

/** Expects that JWTs with made-up kids cause no requests. */
async function expectOneRead(issuer: Issuer, { verify }: Verifier): Promise<void> {
  for (let count = 0; count < 10; count++) {
    expect(await verify(signSession(issuer))).toBe('ada')
    const { kid } = parseSigningKeys(newSigningKeys())
    expect(await verify(signSession(issuer, {}, { ...issuer.keys, kid }))).toBeNull()
  }
  expect(issuer.reads()).toBe(1)
}

for (const [name, language] of Object.entries(scripts)) {
  test(`${name}: reads the keys again for an unknown kid, but not for each`, async () => {
    const issuer = stopLater(await startIssuer())
    await expectOneRead(issuer, stopLater(await startScript(language, issuer.url)))

    const replaced = { [unknownKid]: ' -1' }
    const later = stopLater(await startScript(language, issuer.url, replaced))
    await expectNewKey(issuer, later)
  })

  test(`${name}: reads the keys again after some minutes`, async () => {
    const issuer = stopLater(await startIssuer())
    const replaced = { [knownKid]: '-1' }
    const { verify } = stopLater(await startScript(language, issuer.url, replaced))
    expect(await verify(signSession(issuer))).toBe('ada')

    issuer.published.keys = parseSigningKeys(newSigningKeys()).published
    expect(await verify(signSession(issuer)), 'the removed key').toBeNull()
  })
}

test('go-oidc: reads the keys again for an unknown kid, if they may not be cached any more', async () => {
  const issuer = stopLater(await startIssuer())
  await expectOneRead(issuer, stopLater(await startGo(issuer.url)))

  const other = stopLater(await startIssuer('no-cache'))
  await expectNewKey(other, stopLater(await startGo(other.url)))
})

test('mod_oauth2: reads the keys again for an unknown kid', async () => {
  const issuer = stopLater(await startIssuer())
  await expectNewKey(issuer, stopLater(await startApacheGateway(issuer.url)))
})

test('mod_oauth2: reads the keys again after some minutes', async () => {
  const issuer = stopLater(await startIssuer())
  const replaced = { [knownKid]: '1' }
  const { verify } = stopLater(await startApacheGateway(issuer.url, replaced))
  expect(await verify(signSession(issuer))).toBe('ada')

  issuer.published.keys = parseSigningKeys(newSigningKeys()).published
  await expect.poll(() => verify(signSession(issuer)), 'the removed key').toBeNull()
})

test('HAProxy: chooses the key by kid, which may begin with a hyphen', async () => {
  let previous = newSigningKeys()
  while (!parseSigningKeys(previous).kid.startsWith('-')) previous = newSigningKeys()
  const keySets = [newSigningKeys(), previous].map((json) => JSON.parse(json))
  const json = JSON.stringify({ keys: keySets.flatMap(({ keys }) => keys) })
  const issuer = stopLater(await startIssuer(undefined, json))
  const { verify } = stopLater(await startHaproxy(issuer))

  const previousKeys = parseSigningKeys(previous)
  for (const keys of [issuer.keys, previousKeys])
    expect(await verify(signSession(issuer, {}, keys))).toBe('ada')
  for (const [keys, { kid }] of [
    [issuer.keys, previousKeys],
    [previousKeys, issuer.keys],
  ] as const)
    expect(await verify(signSession(issuer, {}, { ...keys, kid }))).toBeNull()
})

test('HAProxy: replaces a user ID in the request, and removes the JWT', async () => {
  const issuer = stopLater(await startIssuer())
  const { send } = stopLater(await startHaproxy(issuer))
  const forged = ['X-User-Id', 'eve', 'x-user-id', 'eve']
  const bearer = ['Authorization', `Bearer ${signSession(issuer)}`]
  const headers = await send('Host', 'x', ...forged, ...bearer)
  expect(headers).toMatchObject({ 'x-user-id': 'ada' })
  expect(headers).not.toHaveProperty('authorization')
  expect(await send('Host', 'x', ...forged)).toBeNull()
})

test.describe('Apache on the same host', () => {
  let issuer: Issuer
  let gateway: Gateway
  test.beforeEach(async () => {
    issuer = stopLater(await startIssuer())
    gateway = stopLater(await startApacheGateway(issuer.url))
  })

  test('passes the claims of a session, but no JWT and no forged claims', async () => {
    const token = signSession(issuer)
    const headers = await gateway.send(
      ...['Host', 'x', 'Authorization', `Bearer ${token}`],
      ...['OAUTH2_CLAIM_sub', 'eve', 'OAUTH2-CLAIM-email', 'eve'],
      ...['oauth2_claim_connection', 'eve'],
    )
    expect(headers).toMatchObject({
      oauth2_claim_sub: 'ada',
      oauth2_claim_email: 'ada@example.com',
    })
    expect(JSON.stringify(headers)).not.toMatch(/eve|authorization/)
    expect(JSON.stringify(headers)).not.toContain(token)
  })

  test('accepts the cookie of the session, and removes it in every position', async () => {
    const token = signSession(issuer)
    const session = `__Host-session=${token}`
    const refresh = '__Host-refresh=refresh-token'
    const theme = 'theme=dark'
    const look = 'x__Host-session=1; __Host-session2=2; host="__Host-refresh"'
    for (const [cookies, left] of [
      [[session], []],
      [[session, refresh], []],
      [[refresh, session], []],
      [
        [theme, session, refresh, 'a=b=c'],
        [theme, 'a=b=c'],
      ],
      [[session, theme, refresh], [theme]],
      [[refresh, theme, session], [theme]],
      [[session, session, refresh, theme, refresh, session], [theme]],
      [
        [look, session, theme, refresh],
        [look, theme],
      ],
    ] as const)
      for (const separator of ['; ', ';', ';  ']) {
        const headers = await gateway.send('Host', 'x', 'Cookie', cookies.join(separator))
        const { oauth2_claim_sub: sub, cookie = '' } = headers!
        expect(sub).toBe('ada')
        expect(cookie.split(/;\s*/).filter(Boolean)).toEqual(
          left.flatMap((each) => each.split('; ')),
        )
        expect(JSON.stringify(headers)).not.toMatch(`${token}|refresh-token`)
      }

    const fields = [session, theme, refresh].flatMap((cookie) => ['Cookie', cookie])
    const bearer = ['Authorization', `Bearer ${token}`]
    const headers = await gateway.send('Host', 'x', ...fields, ...bearer)
    expect(headers!.cookie).toMatch(/^theme=dark[,;\s]*$/)
  })

  test('rejects a cookie that is no session, and a request without one', async () => {
    const expired = signSession(issuer, { exp: nowSeconds() - 60 })
    for (const cookie of ['theme=dark', `__Host-session=${expired}`])
      expect(await gateway.send('Host', 'x', 'Cookie', cookie)).toBeNull()
    expect(await gateway.send('Host', 'x')).toBeNull()
  })

  test('rejects a JWT that has expired after it was accepted', async () => {
    const token = signSession(issuer, { exp: nowSeconds() + 3 })
    expect(await gateway.verify(token)).toBe('ada')
    await expect.poll(() => gateway.verify(token)).toBeNull()
  })
})
