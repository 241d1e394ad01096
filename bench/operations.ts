import * as routes from '../lib/contract/routes'
import type { Database } from './database'
import type { Load } from './load'

/** The requests of a load: their path, bodies and headers. */
export type Requests = Pick<Load, 'path' | 'body' | 'headers'>

type Operation = {
  /** The path of the equivalent operation on the floor. */
  floor: string
  /** The number of requests in a round. */
  amount: number
  connections: number
  /** Prepares `amount` requests. */
  requests: (database: Database, amount: number) => Promise<Requests>
}

const fast = { floor: '/api/query', amount: 600, connections: 16 }
const hashing = { floor: '/api/hash', amount: 8, connections: 1 }
const pageHeaders = () => ({ 'accept-encoding': 'gzip' })

/** The measured operations, by name. */
export const operations: Record<string, Operation> = {
  exchange: {
    ...fast,
    requests: async (database, amount) => {
      const code = await database.newCodes(amount)
      return { path: routes.exchangeSsoCode.path, body: () => ({ code: code() }) }
    },
  },
  refresh: {
    ...fast,
    requests: async (database, amount) => {
      const { makeRefreshToken } = await import('../lib/session/tokens')
      const next = await database.newSessions(amount)
      const body = () => ({
        refreshToken: makeRefreshToken({ sessionId: next().sessionId, generation: 0 }),
      })
      return { path: routes.refreshSession.path, body }
    },
  },
  session: {
    ...fast,
    requests: async (database, amount) => {
      const { signSessionToken } = await import('../lib/session/tokens')
      const next = await database.newSessions(amount)
      const issuedAt = Math.floor(Date.now() / 1000)
      const times = { authenticatedAt: issuedAt, issuedAt, expiresAt: issuedAt + 3_600 }
      const claims = { email: 'ada@example.com', connection: null, amr: null, ...times }
      const sign = () => signSessionToken({ ...next(), ...claims })
      const tokens = Array.from({ length: amount }, sign) // signed before the measurement
      return {
        path: routes.getSession.path,
        headers: () => ({ authorization: `Bearer ${tokens.pop()}` }),
      }
    },
  },
  page: {
    ...{ floor: '/empty/1', amount: 300, connections: 16 },
    requests: async () => ({ path: '/sign-in', headers: pageHeaders }),
  },
  reset: {
    ...hashing,
    requests: async (database, amount) => {
      const token = await database.newTokens(amount)
      let number = 0
      const body = () => ({
        token: token(),
        password: `lantern meadow ${number++} river`,
      })
      return { path: routes.resetPassword.path, body }
    },
  },
  'sign-in': {
    ...hashing,
    requests: async (database) => ({
      path: routes.signIn.path,
      body: await database.newSignIns(),
    }),
  },
}

/** Returns the requests to a path of the floor. */
export function floorRequests(path: string): Requests {
  if (path.startsWith('/empty/')) return { path, headers: pageHeaders }
  return {
    path,
    body: () => ({ code: 'x'.repeat(43), password: 'lantern meadow river' }),
  }
}
