import { randomUUID } from 'node:crypto'
import * as routes from '../../lib/contract/routes'
import { openOwnDatabase } from '../support/databases/own-database'
import { expect, test } from '../support/fixtures'
import { newAddress } from '../support/secrets'
import { startSmtp } from '../support/servers/smtp'
import { rankZ } from '../support/wire/mann-whitney'

const rounds = 200
const maxZ = 4 // random differences exceed this once in 16,000 comparisons
const kinds = ['known', 'unknown', 'disabled', 'ssoOnly', 'capped'] as const

test('a forgot-password request and the next request take the same time for every state of the account', async ({
  serverWith,
}) => {
  test.setTimeout(600_000)
  const database = await openOwnDatabase()
  const smtp = await startSmtp()
  const server = await serverWith({
    DATABASE_URL: database.url(),
    LOG_LEVEL: 'silent',
    ...smtp.settings,
  })
  const address = (kind: string, round: number) =>
    `${kind.toLowerCase()}-${round}@example.com`
  await database.sql(
    `INSERT INTO users (email, email_domain, disabled_at, password_policy)
     SELECT kind || '-' || round || '@example.com', 'example.com', CASE kind WHEN 'disabled' THEN now() END,
       CASE kind WHEN 'ssoonly' THEN 'never' END
     FROM unnest(ARRAY['known', 'disabled', 'ssoonly', 'capped']) kind, generate_series(1, $1::int) round`,
    [rounds],
  )
  await database.sql(`INSERT INTO mails (kind, user_id, language, due_at, sent_at, requested_at)
    SELECT 'reset', id, 'en', NULL, now(), now() + interval '1 hour' FROM users WHERE email LIKE 'capped-%'`)
  const timed = async (path: string, init: RequestInit) => {
    const startedAt = performance.now()
    const response = await fetch(server.url + path, init)
    await response.text()
    expect(response.status).toBe(200)
    return performance.now() - startedAt
  }
  const post = (email: string) => ({
    method: 'POST',
    headers: { 'Content-Type': 'application/json', 'X-Forwarded-For': newAddress() },
    body: JSON.stringify({ email }),
  })
  try {
    for (let warmUp = 0; warmUp < 100; warmUp++)
      await timed(routes.forgotPassword.path, post(`${randomUUID()}@example.com`))
    const times = Object.fromEntries(
      kinds.map((kind) => [kind, { own: [] as number[], next: [] as number[] }]),
    )
    for (let round = 1; round <= rounds; round++) {
      for (const kind of [...kinds].sort(() => Math.random() - 0.5)) {
        times[kind]!.own.push(
          await timed(routes.forgotPassword.path, post(address(kind, round))),
        )
        times[kind]!.next.push(
          await timed('/api/health', { headers: { 'X-Forwarded-For': newAddress() } }),
        )
      }
    }
    const scores = kinds
      .filter((kind) => kind !== 'unknown')
      .flatMap((kind) =>
        (['own', 'next'] as const).map((which) => ({
          kind,
          which,
          z: rankZ(times[kind]![which], times.unknown![which]),
        })),
      )
    console.log(
      scores
        .map(({ kind, which, z }) => `${kind} (${which}): z = ${z.toFixed(2)}`)
        .join(', '),
    )
    for (const { kind, which, z } of scores)
      expect(Math.abs(z), `${kind} (${which})`).toBeLessThan(maxZ)
    const queued = () =>
      database.sql(
        `SELECT 1 FROM mails WHERE due_at IS NOT NULL OR requested_at <= now()`,
      )
    const emails = 2 * rounds // of users with a password and of SSO-only users
    await expect.poll(async () => (await queued()).length).toBe(emails)
  } finally {
    await smtp.stop()
    await database.drop()
  }
})
