import { spawnSync } from 'node:child_process'
import { createLocalJWKSet, type JSONWebKeySet, jwtVerify } from 'jose'
import { project } from '../../bin/dev/local'
import * as routes from '../../lib/contract/routes'
import {
  formatPem,
  newSigningKeys,
  parseIdTokenKeys,
  parseSigningKeys,
  rotateSigningKeys,
} from '../../lib/settings/signing-keys'
import type { Tokens } from '../support/databases/account'
import {
  exchangePath,
  expect,
  newCode,
  postTo,
  test,
  type User,
} from '../support/fixtures'
import { newAddress } from '../support/secrets'
import { type Server, startServer } from '../support/servers/server'

const issuer = 'http://localhost' // all servers have the same issuer, as behind a load balancer

const deploy = (keys: string) =>
  startServer({ SESSION_SIGNING_KEYS: keys, PUBLIC_URL: issuer })
const keySet = async ({ url }: Server): Promise<JSONWebKeySet> =>
  (await fetch(`${url}/.well-known/jwks.json`)).json()
const post = async ({ url }: Server, path: string, body: object) => {
  const { body: tokens, status } = await postTo(url + path, body, {
    'X-Forwarded-For': newAddress(),
  })
  expect(status).toBe(200)
  return { token: tokens.token!, refreshToken: tokens.refreshToken! }
}

/**
 * Expects that all servers and a dashboard with these public keys accept a session.
 * Returns its new tokens.
 */
async function check(
  session: Tokens,
  servers: Server[],
  dashboard: JSONWebKeySet,
  user: User,
) {
  let { token, refreshToken } = session
  for (const server of servers) {
    const headers = { Authorization: `Bearer ${token}`, 'X-Forwarded-For': newAddress() }
    const found = await (
      await fetch(server.url + routes.getSession.path, { headers })
    ).json()
    expect(found.user).toEqual({ id: user.id, email: user.email })
    await jwtVerify(token, createLocalJWKSet(dashboard), {
      issuer,
      audience: 'dashboard',
      algorithms: ['ES256'],
    })
    ;({ token, refreshToken } = await post(server, routes.refreshSession.path, {
      refreshToken,
    }))
  }
  return { token, refreshToken }
}

test('every session JWT and refresh token is accepted while keys are rotated', async ({
  user,
}) => {
  let keys = newSigningKeys()
  let old = await deploy(keys)
  let cached = await keySet(old)
  let sessions: Tokens[] = []
  for (const expected of ['publish', 'sign', 'drop'] as const) {
    if (expected === 'drop')
      // after seven days
      sessions = [await post(old, exchangePath, { code: await newCode(user) })]
    const { step, json } = rotateSigningKeys(keys)
    expect(step).toBe(expected)
    keys = json
    // for a while, both servers serve, and dashboards use the keys of the old one
    const fresh = await deploy(keys)
    for (const server of [old, fresh])
      sessions.push(await post(server, exchangePath, { code: await newCode(user) }))
    for (const [index, session] of sessions.entries())
      sessions[index] = await check(session, [old, fresh], cached, user)
    cached = await keySet(fresh)
    for (const [index, session] of sessions.entries())
      sessions[index] = await check(session, [fresh], cached, user)
    await old.stop()
    old = fresh
  }
  expect(cached.keys).toHaveLength(1)
  await old.stop()
})

const runKeys = (command: string[], settings: Record<string, string> = {}) => {
  const program = ['--import', 'tsx', `${project}bin/keys.ts`, ...command]
  const none = {
    SESSION_SIGNING_KEYS: '',
    WIDGET_SIGNING_KEYS: '',
    ID_TOKEN_SIGNING_KEYS: '',
  }
  const env = { ...process.env, ...none, ...settings }
  return spawnSync(process.execPath, program, { cwd: project, env, encoding: 'utf8' })
}

test('npm run keys prints only the new value of the setting to stdout, and instructions to stderr', () => {
  const first = runKeys(['new', '--session']).stdout
  const second = runKeys(['rotate'], { SESSION_SIGNING_KEYS: first })
  expect(second.stderr).toContain('Step 1 of 3')
  const SESSION_SIGNING_KEYS = rotateSigningKeys(second.stdout).json
  expect(runKeys(['list'], { SESSION_SIGNING_KEYS }).stdout).toMatch(
    /^[\w-]{43} {2}signs\n[\w-]{43} {2}published, signed previously\n$/,
  )
  const wrong = runKeys(['list'], { SESSION_SIGNING_KEYS: 'secret' })
  expect(wrong).toMatchObject({
    status: 1,
    stdout: '',
    stderr: expect.stringContaining('SESSION_SIGNING_KEYS is not JSON'),
  })
  expect(wrong.stderr).not.toContain('secret')
})

test('npm run keys prints, lists and rotates the keys of the setting that an option names', () => {
  for (const [option, name, wait] of [
    ['--widget', 'WIDGET_SIGNING_KEYS', '15 minutes'],
    ['--id-token', 'ID_TOKEN_SIGNING_KEYS', '7 days'],
  ] as const) {
    expect(runKeys(['rotate', option])).toMatchObject({
      status: 2,
      stderr: expect.stringContaining(`${name} is not set`),
    })

    const first = runKeys(['new', option]).stdout
    expect(runKeys(['list', option], { [name]: first }).stdout).toMatch(
      /^[\w-]{43} {2}signs\n$/,
    )
    const second = runKeys(['rotate', option], { [name]: first })
    expect(second.stderr).toContain(`Set this value as ${name}`)
    const third = runKeys(['rotate', option], { [name]: second.stdout })
    expect(third.stderr).toContain(`Step 2 of 3`)
    expect(third.stderr).toContain(`wait ${wait}:`)
    expect(runKeys(['list', option], { [name]: third.stdout }).stdout).toMatch(
      /^[\w-]{43} {2}signs\n[\w-]{43} {2}published, signed previously\n$/,
    )
  }

  const both = runKeys(['new', '--widget', '--id-token'])
  expect([both.status, both.stdout]).toEqual([2, ''])
})

test('npm run keys -- pem prints only public keys, of sessions unless an option names others', () => {
  const sets = {
    SESSION_SIGNING_KEYS: rotateSigningKeys(newSigningKeys()).json,
    WIDGET_SIGNING_KEYS: newSigningKeys(),
    ID_TOKEN_SIGNING_KEYS: newSigningKeys('RS256'),
  }
  for (const [options, { published }] of [
    [[], parseSigningKeys(sets.SESSION_SIGNING_KEYS)],
    [['--session'], parseSigningKeys(sets.SESSION_SIGNING_KEYS)],
    [['--widget'], parseSigningKeys(sets.WIDGET_SIGNING_KEYS)],
    [['--id-token'], parseIdTokenKeys(sets.ID_TOKEN_SIGNING_KEYS)],
  ] as const)
    expect(runKeys(['pem', ...options], sets)).toMatchObject({
      status: 0,
      stdout: formatPem(published),
      stderr: '',
    })
})

test('npm run keys -- new prints lines of an env file with both sets of keys of a new service', () => {
  const { stdout } = runKeys(['new'])
  const given = Object.fromEntries(
    stdout
      .trim()
      .split('\n')
      .map((line) => line.split(/=(.*)/) as [string, string]),
  )
  expect(Object.keys(given)).toEqual(['SESSION_SIGNING_KEYS', 'ID_TOKEN_SIGNING_KEYS'])
  parseSigningKeys(given.SESSION_SIGNING_KEYS!)
  parseIdTokenKeys(given.ID_TOKEN_SIGNING_KEYS!)
})
