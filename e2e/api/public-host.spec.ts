import { randomBytes } from 'node:crypto'
import { newSecret } from '../../lib/crypto/token'
import { connect } from '../support/databases/connection'
import { expect, test } from '../support/fixtures'
import { startProvider } from '../support/providers/oidc-provider'
import { keepSecret, newAddress } from '../support/secrets'
import { startServer } from '../support/servers/server'
import { startSmtp } from '../support/servers/smtp'
import { send } from '../support/wire/raw-http'

const alias = 'www.login.example'
const warning = 'requests to PUBLIC_URL arrive with another Host'

test('at another host, redirects forms and the start of a sign-in only once to PUBLIC_URL, and warns about a proxy that changes Host', async () => {
  const [provider, smtp] = [await startProvider(), await startSmtp()]
  const slug = await connect(provider)
  const server = await startServer(smtp.settings)
  const { host } = new URL(server.url)
  const open = (path: string, Host = alias) =>
    send(server.url + path, { headers: { Host, 'X-Forwarded-For': newAddress() } })
  const start = `/api/auth/sso/${slug}/start`
  try {
    for (const [path, status] of [
      ['/sign-in', 307],
      ['/sign-in?next=%2Freports%3Fa%3D1', 307],
      ['/forgot-password', 307],
      [start, 303],
      [`${start}?next=%2Freports&unsolicited=`, 303],
    ] as const) {
      const moved = await open(path)
      const target = `${server.url}${path}${path.includes('?') ? '&' : '?'}moved`
      expect([moved.status, moved.headers.location], path).toEqual([status, target])
      expect(
        (await open(path, host)).headers.location ?? '',
        'at the host itself',
      ).not.toContain('moved')
      expect((await open(path, host.toUpperCase())).headers.location ?? '').not.toContain(
        'moved',
      )
    }
    expect(server.output()).not.toContain(warning)

    const secret = keepSecret(newSecret())
    const others =
      '/ /reset-password /forgot-password?sent /forgot-password?invalid'.split(' ')
    const withSecret = [
      '/reset-password?token=',
      '/sso/callback?code=',
      '/sign-in?token=',
      '/sign-in?code=',
    ]
    for (const path of [...others, ...withSecret.map((start) => start + secret)])
      expect((await open(path)).status, path).toBe(200)
    expect((await open(`${start}?code=${secret}`)).headers.location).toMatch(
      provider.issuer,
    )
    expect(server.output()).not.toContain(warning)

    // By default, nginx sends the address of the upstream server as Host.
    for (const Host of ['127.0.0.1:3000', `${randomBytes(32).toString('hex')}.example`]) {
      expect((await open('/sign-in?moved', Host)).status).toBe(200)
      expect((await open('/forgot-password?moved', Host)).status).toBe(200)
      expect((await open(`${start}?moved`, Host)).headers.location).toMatch(
        provider.issuer,
      )
    }
    expect(server.logged(warning)).toMatchObject([
      { level: 'warn', host: '127.0.0.1:3000' },
    ])
  } finally {
    await Promise.all([server.stop(), provider.stop(), smtp.stop()])
  }
})

test('does not log a Host that could be a secret, and does not redirect a preview deployment on Vercel', async () => {
  const server = await startServer({ VERCEL_ENV: 'preview' })
  const other = await startServer()
  const secret = keepSecret(randomBytes(32).toString('hex'))
  const open = (url: string, path: string, Host = alias) =>
    send(url + path, { headers: { Host, 'X-Forwarded-For': newAddress() } })
  try {
    expect((await open(server.url, '/sign-in')).status).toBe(200)
    expect(server.output()).not.toContain(warning)
    expect((await open(other.url, '/sign-in?moved', `${secret}.example`)).status).toBe(
      200,
    )
    expect(other.output()).toContain(warning)
  } finally {
    await Promise.all([server.stop(), other.stop()])
  }
})
