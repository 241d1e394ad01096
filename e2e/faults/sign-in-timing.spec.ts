import { randomUUID } from 'node:crypto'
import bcrypt from 'bcrypt'
import * as routes from '../../lib/contract/routes'
import { openOwnDatabase } from '../support/databases/own-database'
import { expect, test } from '../support/fixtures'
import { newAddress } from '../support/secrets'
import { rankZ } from '../support/wire/mann-whitney'

const rounds = 20 // with 20 rounds, times that do not overlap have z = 5.4
const maxZ = 4 // random differences exceed this once in 16,000 comparisons
const kinds = ['unknown', 'wrong', 'disabled', 'ssoOnly', 'without', 'tooLong'] as const

test('failed sign-ins take the same time for every state of the account', async ({
  serverWith,
}) => {
  test.setTimeout(900_000)
  const database = await openOwnDatabase()
  const server = await serverWith({
    DATABASE_URL: database.url(),
    PASSWORD_SIGN_IN: 'true',
    LOG_LEVEL: 'silent',
    NODE_OPTIONS: '', // bcrypt at its usual cost
  })
  const password = 'not the right password'
  const hash = await bcrypt.hash(randomUUID(), 12)
  await database.sql(
    `INSERT INTO users (email, email_domain, disabled_at, password_policy, password_hash)
     SELECT lower(kind) || '-' || round || '@example.com', 'example.com', CASE kind WHEN 'disabled' THEN now() END,
       CASE kind WHEN 'ssoOnly' THEN 'never' END, CASE kind WHEN 'without' THEN NULL ELSE $2 END
     FROM unnest($3::text[]) kind, generate_series(1, $1::int) round`,
    [rounds, hash, kinds.filter((kind) => kind !== 'unknown')],
  )
  const attempt = async (kind: (typeof kinds)[number], round: number) => {
    const body = {
      email: `${kind}-${round}@example.com`,
      password: kind === 'tooLong' ? 'x'.repeat(1_000) : password,
    }
    const startedAt = performance.now()
    const response = await fetch(server.url + routes.signIn.path, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', 'X-Forwarded-For': newAddress() },
      body: JSON.stringify(body),
    })
    await response.text()
    expect(response.status).toBe(400)
    return performance.now() - startedAt
  }
  try {
    for (let warmUp = 0; warmUp < 10; warmUp++) await attempt('unknown', -1 - warmUp)
    const times = Object.fromEntries(kinds.map((kind) => [kind, [] as number[]]))
    for (let round = 1; round <= rounds; round++) {
      for (const kind of [...kinds].sort(() => Math.random() - 0.5))
        times[kind]!.push(await attempt(kind, round))
    }
    const scores = kinds
      .filter((kind) => kind !== 'unknown')
      .map((kind) => ({ kind, z: rankZ(times[kind]!, times.unknown!) }))
    console.log(scores.map(({ kind, z }) => `${kind}: z = ${z.toFixed(2)}`).join(', '))
    for (const { kind, z } of scores) expect(Math.abs(z), kind).toBeLessThan(maxZ)
  } finally {
    await database.drop()
  }
})
