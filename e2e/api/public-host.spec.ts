import { randomBytes } from 'node:crypto'
import { newSecret } from '../../lib/crypto/token'
import { connect } from '../support/databases/connection'
import { expect, test } from '../support/fixtures'
import { startProvider } from '../support/providers/oidc-provider'
import { keepSecret, newAddress } from '../support/secrets'
import { allFeatures } from '../support/servers/settings'
import { send } from '../support/wire/raw-http'

const alias = 'www.login.example'
const warning = 'requests to PUBLIC_URL arrive with another Host'

test('at another host, redirects forms and the start of a sign-in only once to PUBLIC_URL, and warns about a proxy that changes Host', async ({
  serverWith,
}) => {
  const provider = await startProvider()
  const slug = await connect(provider)
  const { SMTP_URL, MAIL_FROM } = allFeatures
  const server = await serverWith({ SMTP_URL, MAIL_FROM }) // a process warns only once
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
    expect(await server.output()).not.toContain(warning)

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
    expect(await server.output()).not.toContain(warning)

    // By default, nginx sends the address of the upstream server as Host.
    for (const Host of ['127.0.0.1:3000', `${randomBytes(32).toString('hex')}.example`]) {
      expect((await open('/sign-in?moved', Host)).status).toBe(200)
      expect((await open('/forgot-password?moved', Host)).status).toBe(200)
      expect((await open(`${start}?moved`, Host)).headers.location).toMatch(
        provider.issuer,
      )
    }
    expect(await server.logged(warning)).toMatchObject([
      { level: 'warn', host: '127.0.0.1:3000' },
    ])
  } finally {
    await provider.stop()
  }
})

test('does not log a Host that could be a secret, and does not redirect a preview deployment on Vercel', async ({
  serverWith,
}) => {
  const server = await serverWith({ VERCEL_ENV: 'preview' })
  const other = await serverWith({ VERCEL_ENV: '' }) // a process warns only once
  const secret = keepSecret(randomBytes(32).toString('hex'))
  const open = (url: string, path: string, Host = alias) =>
    send(url + path, { headers: { Host, 'X-Forwarded-For': newAddress() } })
  expect((await open(server.url, '/sign-in')).status).toBe(200)
  expect(await server.output()).not.toContain(warning)
  expect((await open(other.url, '/sign-in?moved', `${secret}.example`)).status).toBe(200)
  expect(await other.output()).toContain(warning)
})
