import { execFileSync } from 'node:child_process'
import { createLocalJWKSet, type JSONWebKeySet, jwtVerify } from 'jose'
import { project } from '../../bin/local'
import { newSigningKeys, rotateSigningKeys } from '../../lib/settings/signing-keys'
import { exchange, expect, newAddress, newCode, type Person, post, test } from '../support/fixtures'
import { type Server, startServer } from '../support/server'

const issuer = 'http://localhost' // of all generations of servers, as behind a load balancer
const clients = 3

const generation = (keys: string) => startServer({ SESSION_SIGNING_KEYS: keys, PUBLIC_URL: issuer })
const keySet = async ({ url }: Server): Promise<JSONWebKeySet> => (await fetch(`${url}/.well-known/jwks.json`)).json()

type Traffic = {
  servers: Server[]
  dashboards: JSONWebKeySet[]
  count: { taken: number; refused: number }
  stop: () => Promise<void>
}

/** Signs people in at all servers in turn until told to stop, and looks whether each of them, and every dashboard, takes every session. Counts what was refused. */
async function startTraffic(person: Person, ...servers: Server[]): Promise<Traffic> {
  const dashboards = [await keySet(servers[0]!)]
  let stopped = false
  let turn = 0
  const count = { taken: 0, refused: 0 }
  const sessions: string[] = []
  const look = async (token: string) => {
    const verdicts = await Promise.all([
      ...servers.map(({ url }) => isSignedIn(url, token, person)),
      ...dashboards.map((keys) => isVerified(keys, token)),
    ])
    for (const taken of verdicts) count[taken ? 'taken' : 'refused']++
  }
  const client = async () => {
    while (!stopped) {
      const server = servers[turn++ % servers.length]!
      const { body } = await post(
        server.url + exchange,
        { code: await newCode(person) },
        { 'X-Forwarded-For': newAddress() },
      )
      sessions.push(body.token!)
      await look(body.token!)
      await look(sessions[Math.floor(Math.random() * sessions.length)]!)
    }
  }
  const all = Promise.all(Array.from({ length: clients }, client))
  const stop = async () => {
    stopped = true
    await all
  }
  return { servers, dashboards, count, stop }
}

async function isSignedIn(url: string, token: string, person: Person): Promise<boolean> {
  return (await (await fetch(url, { headers: { Cookie: `session=${token}` } })).text()).includes(person.email)
}

async function isVerified(keys: JSONWebKeySet, token: string): Promise<boolean> {
  return jwtVerify(token, createLocalJWKSet(keys), { issuer, audience: 'dashboard', algorithms: ['ES256'] }).then(
    () => true,
    () => false,
  )
}

/** Replaces what serves: the new generation starts beside the old one, both serve for a while, then the new one alone. Answers the old one. */
async function deploy(keys: string, { servers, dashboards, count }: Traffic): Promise<Server> {
  const more = async (looks: number) => {
    const before = count.taken + count.refused
    await expect.poll(() => count.taken + count.refused - before, { timeout: 60_000 }).toBeGreaterThan(looks)
  }
  const fresh = await generation(keys)
  servers.push(fresh)
  await more(40)
  dashboards.splice(0, 1, await keySet(fresh)) // a dashboard's copy of the keys is at most as old as the generation before
  await more(20)
  return servers.shift()!
}

test('the keys are rotated under load, and no session is refused', async ({ person }) => {
  test.setTimeout(180_000)
  let keys = newSigningKeys()
  const retired: Server[] = []
  const traffic = await startTraffic(person, await generation(keys))
  for (const expected of ['publish', 'sign'] as const) {
    const { step, json } = rotateSigningKeys(keys)
    expect(step).toBe(expected)
    keys = json
    retired.push(await deploy(keys, traffic))
  }
  await traffic.stop()
  console.log(`${traffic.count.taken} looks at sessions during the rotation, ${traffic.count.refused} refused`)
  expect(traffic.count.refused).toBe(0)

  // twelve hours later: no session of the old key is left, those of the new one go on
  const later = await startTraffic(person, traffic.servers[0]!)
  retired.push(await deploy(rotateSigningKeys(keys).json, later))
  await later.stop()
  expect([later.count.refused, later.dashboards[0]!.keys.length]).toEqual([0, 1])
  for (const server of [...retired, ...later.servers]) await server.stop()
})

test('a step left out does refuse sessions: the test above would see it', async ({ person }) => {
  test.setTimeout(180_000)
  const first = newSigningKeys()
  const traffic = await startTraffic(person, await generation(first))
  const retired = await deploy(rotateSigningKeys(rotateSigningKeys(first).json).json, traffic)
  await traffic.stop()
  expect(traffic.count.refused).toBeGreaterThan(0)
  for (const server of [retired, ...traffic.servers]) await server.stop()
})

test('npm run keys prints the next value alone on stdout, and what to do with it on stderr', () => {
  const run = (command: string[], keys = '') => {
    const env = { ...process.env, SESSION_SIGNING_KEYS: keys }
    return execFileSync('npm', ['run', '--silent', 'keys', '--', ...command], {
      cwd: project,
      env,
      stdio: 'pipe',
    }).toString()
  }
  const first = run(['new'])
  expect(run(['list'], first)).toMatch(/^[\w-]{43} {2}signs\n$/)
  const second = run(['rotate'], first)
  expect(run(['list'], second)).toMatch(/^[\w-]{43} {2}signs\n[\w-]{43} {2}published, to sign next\n$/)
  const third = run(['rotate'], second)
  expect(run(['list'], third)).toMatch(/^[\w-]{43} {2}signs\n[\w-]{43} {2}published, signed before\n$/)
  expect(JSON.parse(run(['rotate'], third)).keys).toHaveLength(1)
  for (const [wrong, keys] of [[[]], [['what']], [['rotate']], [['list'], 'secret']] as [string[], string?][]) {
    let printed = ''
    try {
      run(wrong, keys)
    } catch (error) {
      printed = String((error as { stderr: Buffer }).stderr)
    }
    expect(printed).toMatch(/npm run keys|is not JSON/)
    expect(printed).not.toContain('secret')
  }
})
