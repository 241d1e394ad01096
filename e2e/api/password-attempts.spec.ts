import { randomUUID } from 'node:crypto'
import { consumeAttempt, releaseAttempt } from '../../lib/password/attempts'
import { expect, test } from '../support/fixtures'

test('an attempt that does not count is subtracted only in the window in which it was added', async ({
  sql,
}) => {
  const attempt = {
    account: `${randomUUID()}@example.com`,
    network: `192.0.2.0/${randomUUID()}`,
    browser: null,
  }
  const counted = await consumeAttempt(attempt)
  const counts = () =>
    sql(
      `SELECT count FROM password_attempts WHERE key_hash = ANY (ARRAY(SELECT decode(key, 'hex') FROM unnest($1::text[]) key))`,
      [counted.keys],
    )
  const later = `UPDATE password_attempts SET expires_at = expires_at + interval '1 millisecond'
    WHERE key_hash = decode($1, 'hex')`
  await sql(later, [counted.keys[0]])
  await releaseAttempt(counted)
  expect(await counts()).toEqual([{ count: 1 }])
})
