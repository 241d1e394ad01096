import { setTimeout as sleep } from 'node:timers/promises'
import * as paths from '../lib/contract/paths'
import type { Database } from './database'
import { type Load, type Measured, meanwhile, measure } from './load'
import { type BetterAuth, betterAuthVariants } from './peers'
import type { Server } from './servers'

const exchangePath = paths.exchangeSsoCode
const resetPath = paths.resetPassword
export const unknownCode = 'x'.repeat(43)
export const cronSecret = 'the secret of the clean-up'
const expiredRows = 30_000
const floodEveryMs = 20
const signInEveryMs = 50
const floodAtMost = 500
const windowMs = 15 * 60_000
let overdrawn = 0

export type Variant = {
  name: string
  /** The variant of the same round to compare with. */
  baseline?: string
  /** What to know about the comparison with the baseline. */
  note?: string
  run: () => Promise<Measured>
}

export type Servers = Record<'floor' | 'product' | 'mixed' | 'cleaner' | 'smallPool' | 'upstash' | 'large', Server> & {
  other: Server | null
  betterAuth: Server | null
}

/** `ofOther` is the database of the other commit, with its migrations; `ofPeer` that of better-auth. */
export type Databases = {
  small: Database
  large: Database
  ofOther: Database | null
  ofPeer: BetterAuth | null
  manyRows: number
}

/** Returns everything that the benchmark measures. */
export function variantsOf(
  { floor, product, mixed, cleaner, smallPool, upstash, large: largeServer, other, betterAuth }: Servers,
  { small, large, ofOther, ofPeer, manyRows }: Databases,
  { quick, against }: { quick: boolean; against?: string },
): Variant[] {
  const size = (amount: number) => Math.ceil(quick ? amount / 3 : amount)
  const manyInWords = manyRows.toLocaleString('en')
  const load = (server: Server, path: string, code: () => string, more: Partial<Load> = {}) =>
    measure({
      server,
      path,
      body: () => ({ code: code() }),
      status: 200,
      connections: 16,
      amount: size(3_000),
      ...more,
    })
  const good = async (server: Server, database: Database, more: Partial<Load> = {}) =>
    load(server, exchangePath, await database.newCodes((more.amount ?? size(3_000)) + 50), more)
  const unknown = () => unknownCode
  const one = { connections: 1, amount: size(600) }
  const hashes = { connections: 1, amount: size(12) }

  const variants: Variant[] = [
    { name: 'floor: JSON in, JSON out', baseline: 'floor: SELECT 1', run: () => load(floor, '/api/plain', unknown) },
    { name: 'floor: SELECT 1', run: () => load(floor, '/api/query', unknown) },
    {
      name: 'floor: UPDATE, INSERT, signature',
      baseline: 'floor: SELECT 1',
      run: () => good(floor, small, { path: '/api/claim' }),
    },
    { name: 'exchange', baseline: 'floor: SELECT 1', run: () => good(product, small) },
    {
      name: 'exchange, rejected',
      baseline: 'exchange',
      run: () => load(mixed, exchangePath, unknown, { status: 400 }),
    },
    { name: 'refresh', baseline: 'exchange', run: () => refresh(product, small) },
    { name: 'GET /api/auth/session', baseline: 'floor: SELECT 1', run: () => session(product, small) },
    { name: 'floor: empty page', run: () => page(floor, '/empty/0') },
    { name: 'floor: empty page, SELECT 1', baseline: 'floor: empty page', run: () => page(floor, '/empty/1') },
    ...['/', '/sso/callback?code=x', '/reset-password'].map((path) => ({
      name: `page ${path}`,
      baseline: 'floor: empty page',
      run: () => page(product, path),
    })),
    { name: 'page /sign-in', baseline: 'floor: empty page, SELECT 1', run: () => page(product, '/sign-in') },
    {
      name: 'page /reset-password?token=…',
      baseline: 'floor: empty page, SELECT 1',
      run: async () => page(product, `/reset-password?token=${(await small.newTokens(10))()}`),
    },
    { name: 'page / of a user', baseline: 'floor: empty page, SELECT 1', run: homePage },
    { name: '429', baseline: 'floor: JSON in, JSON out', run: () => overTheLimit(mixed) },
    { name: 'exchange, Upstash', baseline: 'exchange', run: () => good(upstash, small) },
    { name: '429, Upstash', baseline: 'floor: JSON in, JSON out', run: () => overTheLimit(upstash) },
    { name: 'exchange, 3 connections to PostgreSQL', baseline: 'exchange', run: () => good(smallPool, small) },
    { name: `exchange, ${manyInWords} rows`, baseline: 'exchange', run: () => good(largeServer, large) },
    { name: `refresh, ${manyInWords} rows`, baseline: 'refresh', run: () => refresh(largeServer, large) },
    {
      name: `GET /api/auth/session, ${manyInWords} rows`,
      baseline: 'GET /api/auth/session',
      run: () => session(largeServer, large),
    },
    { name: 'floor: SELECT 1, 1 connection', run: () => load(floor, '/api/query', unknown, one) },
    { name: 'exchange, 1 connection', baseline: 'floor: SELECT 1, 1 connection', run: () => good(product, small, one) },
    {
      name: `exchange, ${manyInWords} rows, 1 connection`,
      baseline: 'exchange, 1 connection',
      run: () => good(largeServer, large, one),
    },
    {
      name: 'floor: bcrypt, 1 connection',
      run: () => measure({ ...password(floor, '/api/hash', unknown), ...hashes }),
    },
    {
      name: 'reset, 1 connection',
      baseline: 'floor: bcrypt, 1 connection',
      run: async () => measure({ ...password(mixed, resetPath, await small.newTokens(hashes.amount + 10)), ...hashes }),
    },
    {
      name: 'sign-in, 1 connection',
      baseline: 'floor: bcrypt, 1 connection',
      run: () => signIn(mixed, small),
    },
    {
      name: `sign-in, ${manyInWords} rows, 1 connection`,
      baseline: 'sign-in, 1 connection',
      run: () => signIn(largeServer, large),
    },
    {
      name: `exchange while ${1_000 / signInEveryMs} sign-ins a second are offered`,
      baseline: 'exchange',
      run: async () => {
        const body = await small.newSignIns()
        const { result, statuses } = await meanwhile(
          { server: mixed, path: paths.signIn, body, everyMs: signInEveryMs, atMost: floodAtMost },
          () => good(mixed, small),
        )
        return { ...result, meanwhile: statuses }
      },
    },
    {
      name: 'exchange while resets flood',
      baseline: 'exchange',
      run: async () => {
        const token = await small.newTokens(floodAtMost)
        const { result, statuses } = await meanwhile(
          { ...password(mixed, resetPath, token), everyMs: floodEveryMs, atMost: floodAtMost },
          () => good(mixed, small),
        )
        return { ...result, meanwhile: statuses }
      },
    },
    {
      name: `exchange, ${manyInWords} rows, while the clean-up deletes`,
      baseline: `exchange, ${manyInWords} rows`,
      run: async () => {
        await large.addExpired(expiredRows)
        const headers = { authorization: `Bearer ${cronSecret}` }
        const cleanUp = fetch(`${cleaner.url}/api/cron/clean-up`, { headers }).then(
          (response) => response.json() as Promise<{ deleted: Record<string, number> }>,
        )
        const result = await good(largeServer, large)
        return { ...result, meanwhile: (await cleanUp).deleted }
      },
    },
  ]
  if (other) variants.push({ name: `exchange at ${against}`, baseline: 'exchange', run: () => good(other, ofOther!) })
  if (betterAuth)
    variants.push(...betterAuthVariants(betterAuth, ofPeer!, { exchanges: size(3_000), resets: hashes.amount }))
  return variants

  async function refresh(server: Server, database: Database): Promise<Measured> {
    const [{ makeRefreshToken }, next] = await Promise.all([
      import('../lib/session/refresh-token'),
      database.newSessions(size(3_000) + 50),
    ])
    const body = () => ({ refreshToken: makeRefreshToken({ sessionId: next().sessionId, generation: 0 }) })
    return measure({
      server,
      path: paths.refreshSession,
      body,
      status: 200,
      connections: 16,
      amount: size(3_000),
    })
  }

  async function signIn(server: Server, database: Database): Promise<Measured> {
    return measure({ server, path: paths.signIn, body: await database.newSignIns(), status: 200, ...hashes })
  }

  async function session(server: Server, database: Database): Promise<Measured> {
    const amount = size(3_000)
    const token = await sessionTokens(database, amount)
    const headers = () => ({ authorization: `Bearer ${token()}` })
    return measure({ server, path: paths.getSession, headers, status: 200, connections: 16, amount })
  }

  async function homePage(): Promise<Measured> {
    const token = await sessionTokens(small, size(1_500))
    return page(product, '/', () => ({ cookie: `session=${token()}` }))
  }

  function page(server: Server, path: string, headers?: () => Record<string, string>): Promise<Measured> {
    const all = () => ({ 'accept-encoding': 'gzip', ...headers?.() })
    return measure({ server, path, headers: all, status: 200, connections: 16, amount: size(1_500) })
  }

  /** Returns a source of session JWTs, which are signed before the measurement. */
  async function sessionTokens(database: Database, amount: number): Promise<() => string> {
    const { signSessionToken } = await import('../lib/session/token')
    const next = await database.newSessions(amount + 50)
    const issuedAt = Math.floor(Date.now() / 1000)
    const tokens = Array.from({ length: amount + 50 }, () =>
      signSessionToken({ ...next(), issuedAt, expiresAt: issuedAt + 3_600 }),
    )
    return () => tokens.pop()!
  }

  function password(server: Server, path: string, token: () => string) {
    let number = 0
    const body = () => ({ token: token(), password: `lantern meadow ${number++} river` })
    return { server, path, body, status: 200 }
  }

  async function overTheLimit(server: Server): Promise<Measured> {
    const leftMs = windowMs - (Date.now() % windowMs)
    if (leftMs < 20_000) await sleep(leftMs) // Redis counts per 15-minute window: do not measure across its end
    const ipAddress = `192.0.2.${++overdrawn % 256}`
    await load(server, '/api/nothing', unknown, { ipAddress, status: null, amount: 2_050 })
    return load(server, exchangePath, unknown, { ipAddress, status: 429 })
  }
}
