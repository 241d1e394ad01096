import { generateKeyPairSync, randomUUID } from 'node:crypto'
import jwt from 'jsonwebtoken'
import * as routes from '../../lib/contract/routes'
import { makeChallenge, signInPurpose } from '../../lib/passkey/challenge'
import { makeChallenge as makeFactorChallenge } from '../../lib/second-factor/challenge'
import { findFactor } from '../../lib/second-factor/find'
import { disableUser, enableUser } from '../../lib/user/user'
import {
  type Algorithm,
  assert,
  type Changes,
  encodeKey,
  flag,
  newPasskey,
  type Passkey,
  register,
} from '../support/authenticator'
import { mailsOf } from '../support/databases/account'
import { addTestConnection } from '../support/databases/connection'
import {
  countPasskeys,
  newFreshSession,
  newPasskeyUser,
  newSignInChallenge,
  storePasskey,
} from '../support/databases/passkey'
import { newPasswordUser } from '../support/databases/password-user'
import { newFactorUser } from '../support/databases/second-factor'
import { outcomeOf } from '../support/databases/set-up'
import { newBrowser } from '../support/databases/sign-in-requests'
import {
  cookiesOf,
  exchangePath,
  expect,
  newCode,
  newPassword,
  newToken,
  resetPath,
  type TestServer,
  test,
} from '../support/fixtures'
import { keepSecret } from '../support/secrets'
import { allFeatures, passwordSignIn } from '../support/servers/settings'

// The software authenticator signs for this origin.
const origin = process.env.PUBLIC_URL!
let server: TestServer
test.beforeAll(async ({ serverWith }) => {
  server = await serverWith({ ...allFeatures, PUBLIC_URL: origin })
})

type Headers = Record<string, string>

const post = (path: string, body: object, headers: Headers = {}) =>
  server.post(path, body, headers)

/** Signs in with a passkey, with a new challenge unless one is given. */
async function enter(
  passkey: Passkey,
  changes: Changes = {},
  { challenge = '', headers = {} as Headers } = {},
) {
  const given = challenge || (await newSignInChallenge())
  const credential = assert(passkey, given, origin, changes)
  return post(routes.signInWithPasskey.path, { credential }, headers)
}

const startPasskey = (headers: Headers) => post(routes.startPasskey.path, {}, headers)

async function requestChallenge(headers: Headers): Promise<string> {
  const { status, body } = await startPasskey(headers)
  expect(status).toBe(200)
  return keepSecret((body.options as { challenge: string }).challenge)
}

const add = (
  passkey: Passkey,
  challenge: string,
  headers: Headers,
  changes: Changes = {},
) =>
  post(
    routes.addPasskey.path,
    { credential: register(passkey, challenge, origin, changes) },
    headers,
  )

for (const algorithm of [-7, -8, -257] as Algorithm[])
  test(`a passkey with the algorithm ${algorithm} is added, signs in, and is listed`, async ({
    sql,
  }) => {
    const user = await newPasswordUser(sql, { cost: 4 })
    const signedIn = await post(routes.signIn.path, user)
    const Cookie = `refresh=${cookiesOf(signedIn).refresh}`
    const passkey = newPasskey(user.id, { algorithm })
    const response = await startPasskey({ Cookie })
    expect(response.body.options).toMatchObject({
      rp: { id: 'localhost', name: 'Dashboard' },
      user: { id: passkey.userHandle, name: user.email },
      excludeCredentials: [],
      authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
      attestation: 'none',
    })

    const { challenge } = response.body.options as { challenge: string }
    const added = await add(passkey, keepSecret(challenge), { Cookie })
    expect(added.body.passkey).toMatchObject({ synced: true, name: 'Passkey' })
    expect(await mailsOf(sql, user)).toEqual(['passkey-added'])

    const options = await server.get(routes.getPasskeySignInOptions.path)
    const { options: shown, expiresAt } = await options.json()
    expect(Object.keys(shown)).toEqual([
      'challenge',
      'rpId',
      'userVerification',
      'timeout',
    ])
    expect(Date.parse(expiresAt) - Date.now()).toBeGreaterThan(59 * 60_000)
    const entered = await enter(passkey, {}, { challenge: keepSecret(shown.challenge) })
    expect(outcomeOf(entered)).toBe('200 ok')
    expect(jwt.decode(entered.body.token!)).toMatchObject({
      sub: user.id,
      amr: ['pop', 'user', 'mfa'],
    })
    expect(Object.keys(cookiesOf(entered)).sort()).toEqual([
      'challenge',
      'known',
      'refresh',
      'session',
    ])

    const own = { Authorization: `Bearer ${entered.body.token}` }
    const listed = await (await server.get(routes.listPasskeys.path, own)).json()
    expect(listed).toMatchObject({ available: true, passkeys: [{ name: 'Passkey' }] })
    expect(listed.passkeys[0].lastUsedAt).toBeTruthy()
    const sessions = await (await server.get(routes.listSessions.path, own)).json()
    expect(sessions.sessions[0].signedInWith).toEqual({ method: 'passkey' })

    const again = await startPasskey({ Cookie })
    expect(again.body.options).toMatchObject({
      excludeCredentials: [
        {
          type: 'public-key',
          id: passkey.credentialId.toString('base64url'),
          transports: ['hybrid', 'internal'],
        },
      ],
    })
  })

// Way around 1
test('a challenge works only for its purpose, unaltered, once, and until it expires', async ({
  sql,
}) => {
  const user = await newPasskeyUser(sql)
  const other = await newPasskeyUser(sql)
  const { passkey } = user
  const [session, second, ofOther] = [
    await newFreshSession(sql, user),
    await newFreshSession(sql, user),
    await newFreshSession(sql, other),
  ]
  const registration = await requestChallenge(session.headers)
  const rejected = '400 CHALLENGE_INVALID'

  for (const challenge of [
    registration,
    makeFactorChallenge((await findFactor(user.id))!).challenge,
    makeChallenge(Date.now() / 1000 - 3_601, signInPurpose).challenge,
    '',
    'x'.repeat(48),
  ])
    expect(outcomeOf(await enter(passkey, {}, { challenge: challenge || ' ' }))).toBe(
      rejected,
    )

  const fresh = () => newPasskey(user.id)
  for (const [challenge, headers] of [
    [await newSignInChallenge(), session.headers],
    [registration, second.headers],
    [registration, ofOther.headers],
  ] as const)
    expect(outcomeOf(await add(fresh(), challenge, headers))).toBe(rejected)
  expect(await countPasskeys(sql, user)).toBe(1)

  const valid = await newSignInChallenge()
  for (let at = 0; at < valid.length; at++) {
    const changed = valid[at] === 'A' ? 'B' : 'A'
    const challenge = valid.slice(0, at) + changed + valid.slice(at + 1)
    expect(outcomeOf(await enter(passkey, {}, { challenge })), String(at)).toBe(rejected)
  }
  expect(outcomeOf(await enter(passkey, {}, { challenge: valid }))).toBe('200 ok')
  expect(outcomeOf(await enter(passkey, {}, { challenge: valid }))).toBe(rejected)

  expect(outcomeOf(await add(fresh(), registration, session.headers))).toBe('200 ok')
  expect(outcomeOf(await add(fresh(), registration, session.headers))).toBe(rejected)
})

for (const change of ['password_changed_at', 'second_factor_at'])
  test(`after a change of ${change}, a challenge adds no passkey`, async ({ sql }) => {
    const user = await newPasswordUser(sql, { cost: 4 })
    const { headers } = await newFreshSession(sql, user)
    const challenge = await requestChallenge(headers)
    await sql(`UPDATE users SET ${change} = now() WHERE id = $1`, [user.id])
    expect(outcomeOf(await add(newPasskey(user.id), challenge, headers))).toBe(
      '400 CHALLENGE_INVALID',
    )
    expect(await countPasskeys(sql, user)).toBe(0)
  })

/** Responses that break one rule, and the check in the log. */
const { port } = new URL(origin)
const usual = flag.present | flag.verified
const wrongResponses: Record<string, [Changes, string]> = {
  'the user is not present': [
    { flags: flag.verified | flag.backupEligible },
    'passkey_signature',
  ],
  'backed up, but not eligible': [{ flags: usual | flag.backedUp }, 'passkey_signature'],
  'another domain': [{ rpId: 'example.com' }, 'passkey_origin'],
  'another type': [{ type: 'webauthn.other' }, 'passkey_format'],
  'in a frame': [{ clientData: { crossOrigin: true } }, 'passkey_origin'],
  'a frame of unknown origin': [{ clientData: { crossOrigin: 'x' } }, 'passkey_origin'],
  'in a frame of another site': [
    { clientData: { topOrigin: 'https://example.com' } },
    'passkey_origin',
  ],
  ...Object.fromEntries(
    [
      `https://localhost:${port}`,
      'http://localhost',
      `http://localhost:${Number(port) + 1}`,
      `http://login.localhost:${port}`,
      `http://LOCALHOST:${port}`,
      `${origin}/`,
      'null',
      '',
    ].map((each) => [
      `the origin “${each}”`,
      [{ origin: each }, 'passkey_origin'] as [Changes, string],
    ]),
  ),
}

// Way around 2
test('a response that breaks a rule is rejected, with the same body for all rules', async ({
  sql,
}) => {
  const user = await newPasskeyUser(sql)
  const { headers } = await newFreshSession(sql, user)
  const challenge = await requestChallenge(headers)
  const cases: typeof wrongResponses = {
    ...wrongResponses,
    'other eligibility for a backup': [{ flags: usual }, 'passkey_format'],
    'the type of a registration': [{ type: 'webauthn.create' }, 'passkey_format'],
  }

  const bodies = new Set<string>()
  for (const [what, [changes, check]] of Object.entries(cases)) {
    const response = await enter(user.passkey, changes)
    const { requestId, ...body } = response.body
    bodies.add(JSON.stringify(body))
    const [line] = await server.logged(requestId as string)
    expect([outcomeOf(response), line!.check], what).toEqual([
      '400 PASSKEY_INVALID',
      check,
    ])
  }
  expect([...bodies]).toHaveLength(1)

  for (const [what, [changes]] of Object.entries({
    ...wrongResponses,
    'the type of a sign-in': [{ type: 'webauthn.get' }, ''] as const,
    'another ID': [{ id: 'AAAA' }, ''] as const,
  }))
    expect(
      outcomeOf(await add(newPasskey(user.id), challenge, headers, changes)),
      what,
    ).toBe('400 PASSKEY_INVALID')
  expect(await countPasskeys(sql, user)).toBe(1)

  // a failure has not used the challenge up
  expect(outcomeOf(await add(newPasskey(user.id), challenge, headers))).toBe('200 ok')
})

test('a response without user verification is rejected, and says so', async ({ sql }) => {
  const user = await newPasskeyUser(sql)
  const { headers } = await newFreshSession(sql, user)
  const flags = flag.present | flag.backupEligible | flag.backedUp
  const outcome = '400 user_not_verified'
  expect(outcomeOf(await enter(user.passkey, { flags }))).toBe(outcome)
  const challenge = await requestChallenge(headers)
  expect(outcomeOf(await add(newPasskey(user.id), challenge, headers, { flags }))).toBe(
    outcome,
  )
})

test('any attestation is accepted, and its statement ignored', async ({ sql }) => {
  const user = await newPasswordUser(sql, { cost: 4 })
  const { headers } = await newFreshSession(sql, user)
  for (const format of ['packed', 'tpm', 'made-up']) {
    const statement = Buffer.from([0xa1, 0x63, 0x61, 0x6c, 0x67, 0x26]) // {"alg": -7}
    const changes = { format, statement }
    const challenge = await requestChallenge(headers)
    expect(
      outcomeOf(await add(newPasskey(user.id), challenge, headers, changes)),
      format,
    ).toBe('200 ok')
  }
})

test('only the three algorithms are accepted, each with a key of its kind', async ({
  sql,
}) => {
  const user = await newPasswordUser(sql, { cost: 4 })
  const { headers } = await newFreshSession(sql, user)
  const challenge = await requestChallenge(headers)
  const { publicKey: rsa } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const { publicKey: elliptic } = generateKeyPairSync('ec', { namedCurve: 'P-256' })

  for (const publicKey of [
    encodeKey(elliptic, -35),
    encodeKey(rsa, -37),
    encodeKey(rsa, -7),
    encodeKey(elliptic, -8),
    encodeKey(elliptic, -257),
  ])
    expect(
      outcomeOf(await add({ ...newPasskey(user.id), publicKey }, challenge, headers)),
    ).toBe('400 PASSKEY_INVALID')
  expect(await countPasskeys(sql, user)).toBe(0)
})

// Way around 3
test('a passkey signs in only its own user, with its own key', async ({ sql }) => {
  const [ada, bob] = [await newPasskeyUser(sql), await newPasskeyUser(sql)]
  const rsa = await newPasskeyUser(sql, { algorithm: -257 })
  const { passkey } = ada
  const cases: Record<string, [Changes, string]> = {
    'the handle of another user': [
      { userHandle: bob.passkey.userHandle },
      'unknown_passkey',
    ],
    'the handle of no user': [
      { userHandle: newPasskey(randomUUID()).userHandle },
      'PASSKEY_INVALID',
    ],
    'no handle': [{ userHandle: undefined }, 'PASSKEY_INVALID'],
    'a handle that is too short': [{ userHandle: 'AAAA' }, 'PASSKEY_INVALID'],
    'the key of another passkey': [
      { signWith: bob.passkey.privateKey },
      'PASSKEY_INVALID',
    ],
    'a key of another algorithm': [
      { signWith: rsa.passkey.privateKey },
      'PASSKEY_INVALID',
    ],
    'a signature that is cut': [
      { signature: (bytes) => bytes.subarray(0, -1) },
      'PASSKEY_INVALID',
    ],
    'a signature that is padded': [
      { signature: (bytes) => Buffer.concat([bytes, Buffer.from([0])]) },
      'PASSKEY_INVALID',
    ],
    'an empty signature': [{ signature: () => Buffer.alloc(0) }, 'PASSKEY_INVALID'],
    'an unknown ID': [{ id: 'AAAA' }, 'unknown_passkey'],
    'a padded ID': [
      { id: `${passkey.credentialId.toString('base64url')}=` },
      'PASSKEY_INVALID',
    ],
  }

  for (const [what, [changes, code]] of Object.entries(cases))
    expect(outcomeOf(await enter(passkey, changes)), what).toBe(`400 ${code}`)
  const ids = [ada.id, bob.id]
  expect(await sql('SELECT FROM sessions WHERE user_id = ANY ($1)', [ids])).toEqual([])
})

test('a malformed credential is a VALIDATION_ERROR or PASSKEY_INVALID, never a 500', async ({
  sql,
}) => {
  const { passkey } = await newPasskeyUser(sql)
  const valid = assert(passkey, await newSignInChallenge(), origin)
  for (const credential of [null, 'x', [], {}, { ...valid, id: 1 }])
    expect(
      (await post(routes.signInWithPasskey.path, { credential })).body.code,
      JSON.stringify(credential),
    ).toBe('VALIDATION_ERROR')
  for (const field of ['id', 'authenticatorData', 'signature', 'userHandle'] as const)
    for (const text of ['', 'é', '=', 'A', 'x'.repeat(8_000)])
      expect(
        (
          await post(routes.signInWithPasskey.path, {
            credential: { ...valid, [field]: text },
          })
        ).body.code,
        `${field} ${text.slice(0, 9)}`,
      ).toBe('PASSKEY_INVALID')
})

// Way around 4
test.describe('adding and removing', () => {
  test('need the refresh cookie of a fresh sign-in with every factor', async ({
    sql,
  }) => {
    const user = await newPasskeyUser(sql)
    const session = await newFreshSession(sql, user)
    const { body } = await post(routes.signIn.path, user)
    const [exchanged, sso, code, old, before] = [
      await post(exchangePath, { code: await newCode(user) }),
      ...(await Promise.all(
        [
          { method: "'sso'" },
          { method: "'code'" },
          { authenticated_at: "now() - interval '11 minutes'" },
          { authenticated_at: 'NULL' },
        ].map((columns) => newFreshSession(sql, user, columns)),
      )),
    ]
    const withFactor = await newFactorUser(sql)
    const ofPassword = await newFreshSession(sql, withFactor)

    const all: Record<string, Headers> = {
      nothing: {},
      'a JWT as Bearer': { Authorization: `Bearer ${body.token}` },
      'only the JWT as a cookie': { Cookie: `session=${body.token}` },
      'the session of a code': { Cookie: `refresh=${cookiesOf(exchanged).refresh}` },
      'a session of SSO': sso!.headers,
      'a session of a callback': code!.headers,
      'a sign-in 11 minutes ago': old!.headers,
      'a sign-in of an unknown time': before!.headers,
      'a password session after TOTP came on': ofPassword.headers,
    }
    const { passkeyId } = user
    for (const [what, headers] of Object.entries(all)) {
      expect(outcomeOf(await startPasskey(headers)), what).toBe('403 SIGN_IN_AGAIN')
      const removal = await post(routes.removePasskey.path, { passkeyId }, headers)
      expect(outcomeOf(removal), what).toBe('403 SIGN_IN_AGAIN')
    }
    expect(await countPasskeys(sql, user)).toBe(1)

    const challenge = await requestChallenge(session.headers)
    for (const what of ['nothing', 'a JWT as Bearer', 'only the JWT as a cookie'])
      expect(outcomeOf(await add(newPasskey(user.id), challenge, all[what]!)), what).toBe(
        '403 SIGN_IN_AGAIN',
      )
    expect(await countPasskeys(sql, user)).toBe(1)

    const complete = await newFreshSession(sql, withFactor, { amr: "'{pwd,otp,mfa}'" })
    expect(outcomeOf(await startPasskey(complete.headers))).toBe('200 ok')
  })

  test('a sign-in with a passkey is fresh, for a user with a second factor too', async ({
    sql,
  }) => {
    const user = await newFactorUser(sql)
    const passkey = newPasskey(user.id)
    await storePasskey(sql, user, passkey)
    const { refresh } = cookiesOf(await enter(passkey))
    expect(outcomeOf(await startPasskey({ Cookie: `refresh=${refresh}` }))).toBe('200 ok')
  })

  test('a removal ends all other sessions, sends an email, and ignores passkeys of others', async ({
    sql,
  }) => {
    const [user, other] = [await newPasskeyUser(sql), await newPasskeyUser(sql)]
    const [own, second] = [
      await newFreshSession(sql, user),
      await newFreshSession(sql, user),
    ]
    const remove = (passkeyId: string) =>
      post(routes.removePasskey.path, { passkeyId }, own.headers)
    const live = async () =>
      (
        await sql('SELECT id FROM sessions WHERE user_id = $1 AND revoked_at IS NULL', [
          user.id,
        ])
      ).map(({ id }) => id)

    for (const id of [other.passkeyId, randomUUID(), 'x'])
      expect(outcomeOf(await remove(id))).toBe('200 ok')
    expect(await countPasskeys(sql, other)).toBe(1)
    expect(await live()).toHaveLength(2)
    expect(await mailsOf(sql, user)).toEqual([])

    for (const _ of ['first', 'repeated'])
      expect(outcomeOf(await remove(user.passkeyId))).toBe('200 ok')
    expect(await live()).toEqual([own.id])
    expect(second.id).not.toBe(own.id)
    expect(await mailsOf(sql, user)).toEqual(['passkey-removed'])
    expect(outcomeOf(await enter(user.passkey))).toBe('400 unknown_passkey')
  })

  test('a rename needs a session, and ignores passkeys of others', async ({ sql }) => {
    const [user, other] = [await newPasskeyUser(sql), await newPasskeyUser(sql)]
    const { body } = await post(routes.signIn.path, user)
    const headers = { Authorization: `Bearer ${body.token}` }
    const rename = (passkeyId: string, name: string, as: Headers = headers) =>
      post(routes.renamePasskey.path, { passkeyId, name }, as)

    expect(outcomeOf(await rename(user.passkeyId, 'x', {}))).toBe('401 SESSION_INVALID')
    for (const name of ['', '  ', 'x'.repeat(61), 'a\nb', '\0'])
      expect(outcomeOf(await rename(user.passkeyId, name))).toBe('400 invalid_name')
    for (const id of [other.passkeyId, randomUUID(), 'x'])
      expect(outcomeOf(await rename(id, 'Taken'))).toBe('200 ok')
    expect(outcomeOf(await rename(user.passkeyId, ` ${'🔑'.repeat(60)} `))).toBe('200 ok')

    expect(
      await sql('SELECT name FROM passkeys WHERE user_id = ANY ($1) ORDER BY name', [
        [user.id, other.id],
      ]),
    ).toEqual([{ name: '🔑'.repeat(60) }, { name: null }])
  })
})

// Way around 5
test('a passkey of another user, or a 21st one, is not added', async ({ sql }) => {
  const [user, other] = [
    await newPasswordUser(sql, { cost: 4 }),
    await newPasskeyUser(sql),
  ]
  const { headers } = await newFreshSession(sql, user)
  const row = () =>
    sql('SELECT * FROM passkeys WHERE credential_id = $1', [other.passkey.credentialId])
  const before = await row()
  const taken = { ...newPasskey(user.id), credentialId: other.passkey.credentialId }
  expect(outcomeOf(await add(taken, await requestChallenge(headers), headers))).toBe(
    '409 PASSKEY_CONFLICT',
  )
  expect(await row()).toEqual(before)

  for (let count = 0; count < 19; count++)
    await storePasskey(sql, user, newPasskey(user.id))
  const [last, tooMany] = [
    await requestChallenge(headers),
    await requestChallenge(headers),
  ]
  expect(outcomeOf(await add(newPasskey(user.id), last, headers))).toBe('200 ok')
  expect(outcomeOf(await add(newPasskey(user.id), tooMany, headers))).toBe(
    '409 PASSKEY_CONFLICT',
  )
  expect(outcomeOf(await startPasskey(headers))).toBe('409 PASSKEY_CONFLICT')
  expect(await countPasskeys(sql, user)).toBe(20)
})

// Way around 6
test('a disabled user and one under the rule of a domain cannot use passkeys, until an operator allows it', async ({
  sql,
}) => {
  const domain = `${randomUUID()}.example.com`
  const user = await newPasskeyUser(sql, { email: `ada@${domain}` })
  const expectAll = async (works: boolean) => {
    const { headers } = await newFreshSession(sql, user, { method: "'passkey'" })
    const refreshed = await post(routes.refreshSession.path, {}, headers)
    const started = await newFreshSession(sql, user, { method: "'passkey'" })
    expect([
      outcomeOf(await enter(user.passkey)),
      outcomeOf(refreshed),
      outcomeOf(await startPasskey(started.headers)),
    ]).toEqual(
      works
        ? ['200 ok', '200 ok', '200 ok']
        : ['400 PASSKEY_INVALID', '400 REFRESH_INVALID', '403 SIGN_IN_AGAIN'],
    )
  }

  await expectAll(true)
  await disableUser(user.id)
  await expectAll(false)
  await enableUser(user.id)
  await expectAll(true)

  await addTestConnection(domain)
  await expectAll(false)
  await sql(`UPDATE users SET password_policy = 'allowed' WHERE id = $1`, [user.id])
  await expectAll(true)
})

// Way around 8
test('a reset removes the passkeys if the user asks for it and has no second factor', async ({
  sql,
}) => {
  const reset = async (user: { id: string; email: string }, more: object) => {
    const body = { token: await newToken(user), password: newPassword(), ...more }
    expect((await post(resetPath, body)).status).toBe(200)
    return countPasskeys(sql, user)
  }
  const newUser = () => newPasskeyUser(sql)
  const withFactor = await newFactorUser(sql)
  await storePasskey(sql, withFactor, newPasskey(withFactor.id))

  expect(await reset(await newUser(), {})).toBe(1)
  expect(await reset(await newUser(), { removePasskeys: false })).toBe(1)
  expect(await reset(await newUser(), { removePasskeys: true })).toBe(0)
  expect(await reset(withFactor, { removePasskeys: true })).toBe(1)
})

test('a repeated reset with removePasskeys is answered only if no passkey is left', async ({
  sql,
}) => {
  const user = await newPasskeyUser(sql)
  const body = { token: await newToken(user), password: newPassword() }
  const headers = { 'Idempotency-Key': keepSecret(randomUUID().replaceAll('-', '')) }
  const send = (more: object) => post(resetPath, { ...body, ...more }, headers)

  expect(outcomeOf(await send({}))).toBe('200 ok')
  expect(outcomeOf(await send({ removePasskeys: true }))).toBe('400 invalid_or_expired')
  expect(outcomeOf(await send({}))).toBe('200 ok')
  await sql('DELETE FROM passkeys WHERE user_id = $1', [user.id])
  expect(outcomeOf(await send({ removePasskeys: true }))).toBe('200 ok')
})

// Way around 9
test('a challenge, an ID and a handle of a passkey are no code, token or cookie', async ({
  sql,
}) => {
  const { passkey } = await newPasskeyUser(sql)
  const values = [
    await newSignInChallenge(),
    passkey.credentialId.toString('base64url'),
    passkey.userHandle,
  ]
  for (const value of values) {
    const Cookie = ['session', 'refresh', 'challenge', 'known', 'browser']
      .map((name) => `${name}=${value}`)
      .join('; ')
    const responses = [
      await post(exchangePath, { code: value }),
      await post(routes.refreshSession.path, { refreshToken: value }),
      await post(routes.refreshSession.path, {}, { Cookie }),
      await post(routes.signInSecondFactor.path, { challenge: value, code: '123456' }),
      await post(resetPath, { token: value, password: newPassword() }),
      await post(routes.startPasskey.path, {}, { Cookie }),
    ]
    for (const response of responses) expect([400, 403]).toContain(response.status)
    const session = await server.get(routes.getSession.path, {
      Authorization: `Bearer ${value}`,
    })
    expect(session.status).toBe(401)
  }
})

// Way around 10
test('a used challenge is answered only for the same passkey in the same browser', async ({
  sql,
}) => {
  const [ada, bob] = [
    await newPasskeyUser(sql, { isSynced: false, signCount: 5 }),
    await newPasskeyUser(sql),
  ]
  const headers = { Cookie: newBrowser() }
  const challenge = await newSignInChallenge()
  const send = (passkey: Passkey, changes: Changes, as: Headers = headers) =>
    enter(passkey, changes, { challenge, headers: as })
  const first = await send(ada.passkey, { signCount: 6 })
  expect(outcomeOf(first)).toBe('200 ok')

  const rejected = '400 CHALLENGE_INVALID'
  const flags = flag.present
  expect(outcomeOf(await send(bob.passkey, {}))).toBe(rejected)
  for (const changes of [
    { signCount: 7 },
    { signCount: 5 },
    { signCount: 6, flags },
    { signCount: 6, signWith: bob.passkey.privateKey },
    { signCount: 6, origin: 'https://example.com' },
  ])
    expect(outcomeOf(await send(ada.passkey, changes))).toBe(rejected)
  const elsewhere = { Cookie: newBrowser() }
  expect(outcomeOf(await send(ada.passkey, { signCount: 6 }, elsewhere))).toBe(rejected)

  const repeated = await send(ada.passkey, { signCount: 6 })
  expect(repeated.body.refreshToken).toBe(first.body.refreshToken)
  const ids = [ada.id, bob.id]
  expect(await sql('SELECT FROM sessions WHERE user_id = ANY ($1)', [ids])).toHaveLength(
    1,
  )
})

test('an added passkey that is sent again is answered, and another is not', async ({
  sql,
}) => {
  const user = await newPasswordUser(sql, { cost: 4 })
  const { headers } = await newFreshSession(sql, user)
  const challenge = await requestChallenge(headers)
  const passkey = newPasskey(user.id)
  const first = await add(passkey, challenge, headers)
  const second = await add(passkey, challenge, headers)
  expect(second.status).toBe(200)
  expect(second.body).toEqual(first.body)
  expect(await mailsOf(sql, user)).toEqual(['passkey-added'])

  expect(outcomeOf(await add(newPasskey(user.id), challenge, headers))).toBe(
    '400 CHALLENGE_INVALID',
  )
  await sql(
    `UPDATE passkeys SET created_at = now() - interval '61 seconds' WHERE user_id = $1`,
    [user.id],
  )
  expect(outcomeOf(await add(passkey, challenge, headers))).toBe('400 CHALLENGE_INVALID')
})

test('the counter must grow only for a passkey of one device', async ({ sql }) => {
  const synced = await newPasskeyUser(sql, { signCount: 5 })
  for (const signCount of [5, 4, 0])
    expect(outcomeOf(await enter(synced.passkey, { signCount }))).toBe('200 ok')

  const bound = await newPasskeyUser(sql, { isSynced: false })
  const counts: [number, string][] = [
    [0, '200 ok'],
    [0, '200 ok'],
    [7, '200 ok'],
    [7, '400 PASSKEY_INVALID'],
    [6, '400 PASSKEY_INVALID'],
    [0, '400 PASSKEY_INVALID'],
    [8, '200 ok'],
  ]
  for (const [signCount, outcome] of counts)
    expect(outcomeOf(await enter(bound.passkey, { signCount })), String(signCount)).toBe(
      outcome,
    )
  const warnings = await server.logged('the counter of a passkey did not grow')
  expect(warnings.filter(({ userId }) => userId === bound.id)).toHaveLength(3)
})

test('a sign-in in a new browser sends an email of its own, and shares its limit', async ({
  sql,
  smtp,
}) => {
  const user = await newPasskeyUser(sql)
  await newFreshSession(sql, user)
  const first = await enter(user.passkey, {}, { headers: { 'User-Agent': 'Firefox/1' } })
  await expect.poll(() => mailsOf(sql, user)).toEqual(['new-device-passkey'])
  await expect.poll(() => smtp.mailsTo(user.email).length).toBe(1)

  const { known } = cookiesOf(first)
  const [firefox, chrome] = ['Firefox/1', 'Chrome/1']
  await enter(
    user.passkey,
    {},
    { headers: { Cookie: `known=${known}`, 'User-Agent': chrome } },
  )
  await post(routes.signIn.path, user, { 'User-Agent': firefox })
  await post(routes.signIn.path, user, { 'User-Agent': chrome })
  await expect
    .poll(() => mailsOf(sql, user))
    .toEqual(['new-device-passkey', 'new-device'])
})

test('a known browser by a passkey has its own attempts with the password', async ({
  sql,
}) => {
  const user = await newPasskeyUser(sql)
  const { known } = cookiesOf(await enter(user.passkey))
  const wrong = { email: user.email, password: 'not the password' }
  for (let attempt = 0; attempt < 11; attempt++) await post(routes.signIn.path, wrong)
  expect((await post(routes.signIn.path, user)).status).toBe(429)
  const headers = { Cookie: `known=${known}` }
  expect((await post(routes.signIn.path, user, headers)).status).toBe(200)
})

test('without PASSKEYS, the operations respond with 404, and stored passkeys are not used', async ({
  serverWith,
  sql,
}) => {
  const off = await serverWith({ ...passwordSignIn, PUBLIC_URL: origin })
  const user = await newPasskeyUser(sql)
  const session = await newFreshSession(sql, user)
  const credential = assert(user.passkey, await newSignInChallenge(), origin)
  for (const { path } of [
    routes.signInWithPasskey,
    routes.startPasskey,
    routes.addPasskey,
    routes.renamePasskey,
    routes.removePasskey,
  ])
    expect((await off.post(path, { credential }, session.headers)).status, path).toBe(404)
  for (const { path } of [routes.getPasskeySignInOptions, routes.listPasskeys])
    expect((await off.get(path)).status, path).toBe(404)

  const form = new URLSearchParams({ removedPasskey: user.passkeyId })
  const response = await off.fetch(routes.updateAccount.path, {
    method: 'POST',
    body: form,
    redirect: 'manual',
    headers: { ...session.headers, 'Sec-Fetch-Site': 'same-origin' },
  })
  expect(response.headers.get('location')).toBe('/account')
  expect(await countPasskeys(sql, user)).toBe(1)
  const live = 'SELECT FROM sessions WHERE user_id = $1 AND revoked_at IS NULL'
  expect(await sql(live, [user.id])).toHaveLength(1)
})
