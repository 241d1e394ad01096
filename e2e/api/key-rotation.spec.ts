import { execFileSync } from 'node:child_process'
import { createLocalJWKSet, type JSONWebKeySet, jwtVerify } from 'jose'
import { project } from '../../bin/local'
import * as paths from '../../lib/contract/paths'
import { newSigningKeys, rotateSigningKeys } from '../../lib/settings/signing-keys'
import { exchangePath, expect, newAddress, newCode, postTo, test, type User } from '../support/fixtures'
import { type Server, startServer } from '../support/server'

const issuer = 'http://localhost' // the same for all servers, as behind a load balancer
const clients = 3

const generation = (keys: string) => startServer({ SESSION_SIGNING_KEYS: keys, PUBLIC_URL: issuer })
const keySet = async ({ url }: Server): Promise<JSONWebKeySet> => (await fetch(`${url}/.well-known/jwks.json`)).json()

type Traffic = {
  servers: Server[]
  dashboards: JSONWebKeySet[]
  count: { accepted: number; rejected: number }
  stop: () => Promise<void>
}

/**
 * Signs a user in at each server in turn until stopped. Checks whether all servers and dashboards
 * accept each session, and whether each server renews the sessions that any server started.
 */
async function startTraffic(user: User, ...servers: Server[]): Promise<Traffic> {
  const dashboards = [await keySet(servers[0]!)]
  let stopped = false
  let turn = 0
  const count = { accepted: 0, rejected: 0 }
  const sessions: string[] = []
  const refreshTokens: string[] = []
  const anyOf = (length: number) => Math.floor(Math.random() * length)
  const check = async (token: string) => {
    const verdicts = await Promise.all([
      ...servers.map(({ url }) => isSignedIn(url, token, user)),
      ...dashboards.map((keys) => isVerified(keys, token)),
    ])
    for (const accepted of verdicts) count[accepted ? 'accepted' : 'rejected']++
  }
  const renew = async () => {
    const index = anyOf(refreshTokens.length)
    const server = servers[turn++ % servers.length]!
    const { status, body } = await postTo(
      server.url + paths.refreshSession,
      { refreshToken: refreshTokens[index] },
      { 'X-Forwarded-For': newAddress() },
    )
    count[status === 200 ? 'accepted' : 'rejected']++
    if (status !== 200) return
    refreshTokens[index] = body.refreshToken!
    await check(body.token!)
  }
  const client = async () => {
    while (!stopped) {
      const server = servers[turn++ % servers.length]!
      const { body } = await postTo(
        server.url + exchangePath,
        { code: await newCode(user) },
        { 'X-Forwarded-For': newAddress() },
      )
      sessions.push(body.token!)
      refreshTokens.push(body.refreshToken!)
      await check(body.token!)
      await check(sessions[anyOf(sessions.length)]!)
      await renew()
    }
  }
  const all = Promise.all(Array.from({ length: clients }, client))
  const stop = async () => {
    stopped = true
    await all
  }
  return { servers, dashboards, count, stop }
}

async function isSignedIn(url: string, token: string, user: User): Promise<boolean> {
  return (await (await fetch(url, { headers: { Cookie: `session=${token}` } })).text()).includes(user.email)
}

async function isVerified(keys: JSONWebKeySet, token: string): Promise<boolean> {
  return jwtVerify(token, createLocalJWKSet(keys), { issuer, audience: 'dashboard', algorithms: ['ES256'] }).then(
    () => true,
    () => false,
  )
}

/** Rolling deployment: both servers run for a while, then only the new one. Returns the old one. */
async function deploy(keys: string, { servers, dashboards, count }: Traffic): Promise<Server> {
  const more = async (looks: number) => {
    const before = count.accepted + count.rejected
    await expect.poll(() => count.accepted + count.rejected - before, { timeout: 60_000 }).toBeGreaterThan(looks)
  }
  const fresh = await generation(keys)
  servers.push(fresh)
  await more(40)
  dashboards.splice(0, 1, await keySet(fresh)) // a dashboard's cached keys are at most one deployment old
  await more(20)
  return servers.shift()!
}

test('keys are rotated under load, and no session and no refresh token is rejected', async ({ user }) => {
  test.setTimeout(180_000)
  let keys = newSigningKeys()
  const retired: Server[] = []
  const traffic = await startTraffic(user, await generation(keys))
  for (const expected of ['publish', 'sign'] as const) {
    const { step, json } = rotateSigningKeys(keys)
    expect(step).toBe(expected)
    keys = json
    retired.push(await deploy(keys, traffic))
  }
  await traffic.stop()
  console.log(`${traffic.count.accepted} sessions accepted during the rotation, ${traffic.count.rejected} rejected`)
  expect(traffic.count.rejected).toBe(0)

  // Seven days later: all sessions of the old key have ended, those of the new key have not.
  const later = await startTraffic(user, traffic.servers[0]!)
  retired.push(await deploy(rotateSigningKeys(keys).json, later))
  await later.stop()
  expect([later.count.rejected, later.dashboards[0]!.keys.length]).toEqual([0, 1])
  for (const server of [...retired, ...later.servers]) await server.stop()
})

test('skipping a step causes rejected sessions, so the test above would detect it', async ({ user }) => {
  test.setTimeout(180_000)
  const first = newSigningKeys()
  const traffic = await startTraffic(user, await generation(first))
  const retired = await deploy(rotateSigningKeys(rotateSigningKeys(first).json).json, traffic)
  await traffic.stop()
  expect(traffic.count.rejected).toBeGreaterThan(0)
  for (const server of [retired, ...traffic.servers]) await server.stop()
})

test('npm run keys prints only the next value to stdout, and instructions to stderr', () => {
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
  expect(run(['list'], second)).toMatch(/^[\w-]{43} {2}signs\n[\w-]{43} {2}published, signs next\n$/)
  const third = run(['rotate'], second)
  expect(run(['list'], third)).toMatch(/^[\w-]{43} {2}signs\n[\w-]{43} {2}published, signed previously\n$/)
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
