import { expect, test } from 'vitest'
import { z } from 'zod'
import { describeError } from './command-line'

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
