import { expect, test } from 'vitest'
import { operations } from '../contract/operations'
import { route } from './route'

test('the compiler rejects a response with a missing or an unknown field', () => {
  // `npm run check` fails if the compiler does not report an error at each of these
  // lines.
  const handlers = route(operations.getHealth, async ({ respond }) => {
    // @ts-expect-error `ok` is missing
    respond({})
    // @ts-expect-error `more` is not a field
    return respond({ ok: true, more: 1 })
  })
  route(operations.exchangeSsoCode, async ({ body, respond }) => {
    // @ts-expect-error `refreshToken` is missing
    return respond({ ok: true, token: body.code })
  })
  expect(Object.keys(handlers).sort()).toEqual([
    'DELETE',
    'GET',
    'HEAD',
    'OPTIONS',
    'PATCH',
    'POST',
    'PUT',
  ])
})
