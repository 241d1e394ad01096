import { createHash } from 'node:crypto'
import { createServer } from 'node:http'
import {
  expect,
  newPassword,
  newToken,
  postTo,
  resetPath,
  test,
} from '../support/fixtures'
import { listen } from '../support/servers/listen'

// Unit tests cover the failures of the breach API.
test('checks for breached passwords by default, and skips the check if the breach API fails', async ({
  serverWith,
  user,
}) => {
  const breached = newPassword()
  const digest = createHash('sha1').update(breached).digest('hex').toUpperCase()
  let isDown = false
  const requests: { path: string; padding: unknown }[] = []
  const api = createServer((request, response) => {
    requests.push({ path: request.url!, padding: request.headers['add-padding'] })
    response
      .writeHead(isDown ? 503 : 200)
      .end(`0018A45C4D1DEF81644B54AB7F969B88D65:0\r\n${digest.slice(5)}:42`)
  })
  const { url, stop } = await listen(api)
  const server = await serverWith({
    PASSWORD_BREACH_CHECK: '', // the default in production
    PASSWORD_BREACH_URL: url,
  })
  const token = await newToken(user)
  const attempt = async (password: string) => {
    const { status, body } = await postTo(server.url + resetPath, { token, password })
    return body.issues?.[0]?.code ?? status
  }
  expect(await attempt(breached)).toBe('breached')
  expect(await attempt('password1')).toBe('too_guessable')
  expect(requests).toEqual([{ path: `/range/${digest.slice(0, 5)}`, padding: 'true' }])
  isDown = true
  expect(await attempt(breached)).toBe(200)
  expect(requests).toHaveLength(2)
  await stop()
})
