import { issueSsoCode } from '../../lib/code/issue'
import * as routes from '../../lib/contract/routes'
import { newSecret } from '../../lib/crypto/token'
import { expect, newUsers, test } from '../support/fixtures'
import { keepSecret, newAddress } from '../support/secrets'
import { startServer } from '../support/servers/server'
import { rankZ } from '../support/wire/mann-whitney'

const rounds = 200
const maxZ = 4 // random differences exceed this once in 16,000 comparisons
const kinds = ['unknown', 'expired', 'browser', 'disabled', 'connection'] as const

test('a rejected exchange takes the same time for every reason', async ({ sql }) => {
  test.setTimeout(300_000)
  const server = await startServer({ LOG_LEVEL: 'silent' })
  const users = await newUsers(sql, rounds)
  const issue = async (kind: (typeof kinds)[number], round: number) => {
    if (kind === 'unknown') return newSecret()
    const bounds = {
      ...(kind === 'browser' && { browser: newSecret() }),
      ...(kind === 'connection' && { connectionId: crypto.randomUUID() }),
    }
    return (await issueSsoCode(users[round]!.id, bounds)).secret
  }
  const exchange = async (code: string) => {
    const startedAt = performance.now()
    const response = await fetch(server.url + routes.exchangeSsoCode.path, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', 'X-Forwarded-For': newAddress() },
      body: JSON.stringify({ code }),
    })
    await response.text()
    expect(response.status).toBe(400)
    return performance.now() - startedAt
  }

  try {
    for (let warmUp = 0; warmUp < 100; warmUp++) await exchange(newSecret())
    const times = Object.fromEntries(kinds.map((kind) => [kind, [] as number[]]))
    for (let round = 0; round < rounds; round++) {
      const { id } = users[round]!
      for (const kind of [...kinds].sort(() => Math.random() - 0.5)) {
        const code = keepSecret(await issue(kind, round))
        const expired = kind === 'expired' ? 'now()' : 'expires_at'
        const disabled = kind === 'disabled' ? 'now()' : 'NULL::timestamptz'
        await sql(
          `UPDATE exchange_codes SET expires_at = ${expired} WHERE user_id = $1`,
          [id],
        )
        await sql(`UPDATE users SET disabled_at = ${disabled} WHERE id = $1`, [id])
        times[kind]!.push(await exchange(code))
      }
    }
    const scores = kinds
      .filter((kind) => kind !== 'unknown')
      .map((kind) => ({ kind, z: rankZ(times[kind]!, times.unknown!) }))
    console.log(scores.map(({ kind, z }) => `${kind}: z = ${z.toFixed(2)}`).join(', '))
    for (const { kind, z } of scores) expect(Math.abs(z), kind).toBeLessThan(maxZ)
  } finally {
    await server.stop()
  }
})
