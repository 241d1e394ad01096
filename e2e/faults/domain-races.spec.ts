import { randomUUID } from 'node:crypto'
import { exchangeSsoCode } from '../../lib/code/exchange'
import { issueResetToken, resetPassword } from '../../lib/password/reset'
import { signIn } from '../../lib/password/sign-in'
import { refreshSession } from '../../lib/session/refresh'
import { makeRefreshToken } from '../../lib/session/tokens'
import { issueIdentityCode } from '../../lib/sso/code'
import { findConnection } from '../../lib/sso/connection'
import { findOrLinkUser } from '../../lib/sso/identity'
import { activateDomains } from '../../lib/sso/manage/activate'
import { endPasswordSessions } from '../../lib/sso/manage/batches'
import {
  type ListedConnection,
  linkUser,
  listConnections,
  updateConnection,
} from '../../lib/sso/manage/connections'
import { unlinkDomains } from '../../lib/sso/manage/domains'
import { addTestConnection } from '../support/databases/connection'
import { caller, newPasswordUser } from '../support/databases/password-user'
import { race } from '../support/databases/race'
import { expect, newPassword, type Sql, test } from '../support/fixtures'
import { clientSecret } from '../support/providers/oidc-provider'

// Commands about the domains of a connection, at the same time as another command or a
// sign-in.

const rounds = 40
const newDomain = () => `${randomUUID()}.example.org`
const reload = async ({ slug }: { slug: string }) => (await listConnections(slug))[0]!

/** Resolves to whether an operation succeeded. Rejects unless its error is expected. */
async function succeeds(operation: Promise<unknown>, expected: RegExp): Promise<boolean> {
  try {
    await operation
    return true
  } catch (error) {
    const { message, code, check } = error as Error & { code?: string; check?: string }
    if (expected.test(check ?? code ?? message)) return false
    throw error
  }
}

/** Starts both operations at the same time, and counts those that succeed. */
async function countSuccesses(
  operations: Promise<unknown>[],
  expected: RegExp,
): Promise<number> {
  const results = await Promise.all(operations.map((each) => succeeds(each, expected)))
  return results.filter(Boolean).length
}

test('of two commands that move a domain from the same connection, one succeeds', async ({
  sql,
}) => {
  for (let round = 0; round < rounds; round++) {
    const domain = newDomain()
    const { slug: from } = await addTestConnection(domain)
    const beside = { activate: false, beside: from }
    const others = [
      await addTestConnection(domain, beside),
      await addTestConnection(domain, beside),
    ]
    const moves = others.map((each) => activateDomains(each, { from }))
    expect(await countSuccesses(moves, / has .*To move it/)).toBe(1)
    await expectOneLive(sql, domain)
  }
})

test('of two commands that activate a domain for different connections, one succeeds', async ({
  sql,
}) => {
  for (let round = 0; round < rounds; round++) {
    const domain = newDomain()
    const both = [
      await addTestConnection(domain, { activate: false }),
      await addTestConnection(domain, { activate: false }),
    ]
    const activations = both.map((each) => activateDomains(each))
    const taken = / has .*To move it|Another connection has one of these domains/
    expect(await countSuccesses(activations, taken)).toBe(1)
    await expectOneLive(sql, domain)
  }
})

async function expectOneLive(sql: Sql, domain: string): Promise<void> {
  const live = `SELECT FROM connection_domains WHERE domain = $1 AND live_since IS NOT NULL`
  expect(await sql(live, [domain])).toHaveLength(1)
}

test('of an activation and an update of the same connection, the later one fails', async () => {
  for (let round = 0; round < rounds; round++) {
    const before = await addTestConnection(newDomain(), { activate: false })
    const settings = { ...before.settings, clientId: 'y' } as ListedConnection['settings']
    const operations = [
      activateDomains(before),
      updateConnection(before, { settings, secrets: { clientSecret } }),
    ]
    expect(await countSuccesses(operations, /Another command has changed/)).toBe(1)
  }
})

test('after an activation, no password session is alive, whatever happened at the same time', async ({
  sql,
}) => {
  const rejected = /SIGN_IN_INVALID|VALIDATION_ERROR|REFRESH_INVALID/
  await race(async () => {
    const domain = newDomain()
    const connection = await addTestConnection(domain, { activate: false })
    const [ada, bob] = [
      await newPasswordUser(sql, { cost: 4, email: `ada@${domain}` }),
      await newPasswordUser(sql, { cost: 4, email: `bob@${domain}` }),
    ]
    const { secret } = await issueResetToken(bob.id)
    const { sessionId } = await signIn(ada.email, ada.password, caller)
    const refreshToken = makeRefreshToken({ sessionId, generation: 0 })
    const password = newPassword()
    return {
      contenders: [
        () => succeeds(signIn(ada.email, ada.password, caller), rejected),
        () => succeeds(refreshSession(refreshToken), rejected),
        async () =>
          (await succeeds(resetPassword(secret, password), rejected)) &&
          succeeds(signIn(bob.email, password, caller), rejected),
      ],
      end: async () => {
        await activateDomains(connection)
        await endPasswordSessions([domain])
      },
      check: async () => {
        const live = `SELECT FROM sessions WHERE user_id = ANY ($1) AND revoked_at IS NULL`
        expect(await sql(live, [[ada.id, bob.id]])).toEqual([])
      },
    }
  }, rounds)
})

/** Adds a connection with a linked user, and a user who has never signed in. */
async function newUsers(sql: Sql) {
  const domain = newDomain()
  const connection = await addTestConnection(domain)
  const [ada, bob] = [
    await newPasswordUser(sql, { cost: 4, email: `ada@${domain}` }),
    await newPasswordUser(sql, { cost: 4, email: `bob@${domain}` }),
  ]
  const { issuer } = connection.settings
  await linkUser(ada.id, connection, { issuer, subject: ada.id })

  /** Signs in as a person whose subject is the ID of the user. Returns the code. */
  const arrive = async (user: { id: string; email: string }) => {
    const found = (await findConnection(connection.slug))!
    const identity = { issuer: found.settings.issuer, subject: user.id }
    const contact = async () => ({ email: user.email, isVerified: true })
    const userId = await findOrLinkUser(found, identity, contact)
    return issueIdentityCode(userId, found.id, identity)
  }

  return { domain, connection, ada, bob, arrive }
}

test('after a domain was removed with its links, no link and no session is left', async ({
  sql,
}) => {
  const rejected = /email_domain|identity_unlinked|SSO_EXCHANGE_INVALID/
  const tally = await race(async () => {
    const { domain, connection, ada, bob, arrive } = await newUsers(sql)
    const { secret } = await arrive(ada)
    const before = await reload(connection)
    const enter = async (user: typeof ada) =>
      exchangeSsoCode((await arrive(user)).secret, caller)
    return {
      contenders: [
        () => succeeds(arrive(bob), rejected),
        () => succeeds(exchangeSsoCode(secret, caller), rejected),
        () => succeeds(enter(ada), rejected),
      ],
      end: async () => {
        const removedDomains = [domain]
        await updateConnection(before, { removedDomains, links: 'unlink' })
        await unlinkDomains(before, removedDomains)
      },
      check: async () => {
        const links = 'SELECT FROM identities WHERE connection_id = $1'
        expect(await sql(links, [connection.id])).toEqual([])
        const live =
          'SELECT FROM sessions WHERE connection_id = $1 AND revoked_at IS NULL'
        expect(await sql(live, [connection.id])).toEqual([])
      },
    }
  }, rounds)
  expect(tally.some).toBeGreaterThan(0)
})

test('a sign-in during the move to another issuer starts again once, and links nobody twice', async ({
  sql,
}) => {
  const startsAgain = /connection_changed|identity_unlinked/
  const tally = await race(async () => {
    const { connection, ada, bob, arrive } = await newUsers(sql)
    const before = await reload(connection)
    const issuer = 'https://new.example.com'
    const signInTwice = async (user: typeof ada) => {
      if (await succeeds(arrive(user), startsAgain)) return true
      await arrive(user)
      return false
    }
    return {
      contenders: [
        () => signInTwice(ada),
        () => signInTwice(bob),
        () => signInTwice(ada),
        () => signInTwice(bob),
      ],
      end: () =>
        updateConnection(before, {
          settings: { ...before.settings, issuer },
          secrets: { clientSecret },
          sameUsers: true,
        }),
      check: async () => {
        const links = `SELECT user_id, issuer, subject FROM identities WHERE connection_id = $1 ORDER BY subject`
        const expected = [ada.id, bob.id]
          .toSorted()
          .map((id) => ({ user_id: id, issuer, subject: id }))
        expect(await sql(links, [connection.id])).toEqual(expected)
      },
    }
  }, rounds)
  expect(tally.all).toBeLessThan(rounds + 1)
})
