import { expect, test } from 'vitest'
import * as z from 'zod'
import { currentOrigin } from '../lib/event/origin'
import { describeError, newProgram, readSince, recordOperator } from './command-line'

test('prints an error of a validator as sentences, not as JSON', () => {
  const schema = z.object({
    issuer: z.url('must be a URL'),
    tenants: z.array(z.string().min(3)),
  })
  const { error } = schema.safeParse({ issuer: 'secret', tenants: ['x'] })
  expect(error!.message).toContain('[') // what would be printed otherwise
  expect(describeError(error!)).toMatch(
    /^issuer is invalid: must be a URL\.\ntenants\.0 is invalid: [^{}[\]]+\.$/,
  )
  const whole = z.string().safeParse(1).error!
  expect(describeError(whole)).toMatch(/^The value is invalid: [^{}[\]]+\.$/)
  expect(describeError(new Error('A sentence.'))).toBe('A sentence.')
})

test('the events of a command have its name, without arguments, and the name after --by', async () => {
  const origins: object[] = []
  const act = () => void origins.push(currentOrigin())
  const run = (...parameters: string[]) => {
    const program = recordOperator(newProgram('npm run users --', 'Manages users.'))
    program.exitOverride().configureOutput({ writeErr: () => {} })
    program.command('disable <email>').action(act)
    program.command('add').command('oidc <slug>').action(act)
    return program.parseAsync(parameters, { from: 'user' })
  }
  try {
    await run('disable', 'ada@example.com')
    await run('disable', 'ada@example.com', '--by', ' Grace Hopper ')
    await run('--by', 'Grace', 'add', 'oidc', 'acme')
    expect(origins).toEqual([
      { actor: 'operator', command: 'users disable', operator: null },
      { actor: 'operator', command: 'users disable', operator: 'Grace Hopper' },
      { actor: 'operator', command: 'users add oidc', operator: 'Grace' },
    ])
    for (const name of ['', '  ', 'x'.repeat(61), 'a\nb'])
      await expect(run('disable', 'ada@example.com', '--by', name)).rejects.toThrow(
        '--by needs a name of 1 to 60 characters.',
      )
  } finally {
    delete (globalThis as { commandOrigin?: unknown }).commandOrigin
  }
})

test('a list of events begins some time ago, or at a date or time in UTC', () => {
  const given = {
    '2026-12-01': '2026-12-01T00:00:00.000Z',
    '2026-12-01T10:30': '2026-12-01T10:30:00.000Z',
    '2026-12-01T10:30:15Z': '2026-12-01T10:30:15.000Z',
    '2026-12-01T10:30+02:00': '2026-12-01T08:30:00.000Z',
  }
  for (const [text, expected] of Object.entries(given))
    expect(readSince(text).toISOString(), text).toBe(expected)
  expect(Math.abs(readSince('2d').getTime() + 2 * 86_400_000 - Date.now())).toBeLessThan(
    60_000,
  )
  for (const wrong of ['', 'monday', '2026', '12-01-2026', '2026-13-01', '7w'])
    expect(() => readSince(wrong), wrong).toThrow('is neither a time ago, such as 7d')
})
