import { exchange, expect, newCode, test } from './fixtures'

test('a good code gives a session JWT and a refresh token', async ({ person, post }) => {
  const answer = await post(exchange, { code: await newCode(person) })
  expect(answer.status).toBe(200)
  expect(Object.keys(answer.body).sort()).toEqual(['ok', 'refreshToken', 'token'])
})
