import { expect, test } from 'vitest'
import { describeCause } from './log'

test('the description of an error contains its stack frames, but no part of its message', () => {
  const { at, ...rest } = describeCause(
    new TypeError('quoted\n    at a secret (file.js:1:1)\n    at another secret'),
  )
  expect(rest).toEqual({ name: 'TypeError' })
  expect(at).toContain('log.spec.ts')
  expect(at).not.toContain('secret')
})

test('the description of an error contains its message only if the message is on the list for the database driver', () => {
  for (const message of [
    'Query read timeout',
    'The server does not support SSL connections',
  ])
    expect(describeCause(new Error(message)).reason).toBe(message)
  for (const message of [
    'Query read timeout of secret',
    'SASL: server returned error: "secret"',
    'secret',
  ])
    expect(describeCause(new Error(message)).reason).toBeUndefined()
})

test('the description of an error contains no part of a message that was changed later', () => {
  const error = new Error('first')
  error.message = 'second\n    at a secret (file.js:1:1)'
  expect(describeCause(error).at).toContain('log.spec.ts')
  expect(describeCause(error).at).not.toContain('secret')
})

test('the description of a lost prepared statement names the setting for poolers', () => {
  for (const code of ['26000', '42P05'])
    expect(describeCause(Object.assign(new Error('quoted'), { code })).reason).toContain(
      'DATABASE_POOLED=true',
    )
})
