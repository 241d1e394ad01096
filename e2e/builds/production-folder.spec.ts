import { execFile } from 'node:child_process'
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { project } from '../../bin/dev/local'
import { complaintsOf, violationsOf } from '../support/browsers/page-checks'
import { openOwnDatabase } from '../support/databases/own-database'
import { isIgnoredByImage } from '../support/documents/docker-ignore'
import { files } from '../support/documents/documents'
import {
  exchangePath,
  expect,
  newPassword,
  newToken,
  postTo,
  resetPath,
  test,
} from '../support/fixtures'
import { keepSecret, newAddress } from '../support/secrets'
import { type Server, startServer } from '../support/servers/server'

// The reviewed list of production dependencies. Every deployment contains all of them.
const dependencies = `
  @next/env @node-saml/node-saml @opentelemetry/api @opentelemetry/exporter-metrics-otlp-http
  @opentelemetry/exporter-prometheus @opentelemetry/exporter-trace-otlp-http @opentelemetry/resources
  @opentelemetry/sdk-metrics @opentelemetry/sdk-trace-node @prisma/adapter-pg @prisma/client
  @prisma/driver-adapter-utils @prisma/schema-engine-wasm @simplewebauthn/server @upstash/ratelimit @upstash/redis @vercel/functions
  @zxcvbn-ts/core @zxcvbn-ts/language-common bcrypt commander csv-parse ioredis ipaddr.js jose next node-forge nodemailer
  openid-client otpauth p-queue pg pino rate-limiter-flexible react react-dom saxes undici uqr
  xml-crypto xml-encryption zod
`

const name = 'Northwind Traders International Holding of Yellow Things'
const logo = (color: string) =>
  `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 600 60"><rect width="600" height="60" fill="${color}"/></svg>`
const brand: Record<string, string | Buffer> = {
  'logo.svg': logo('#111111'),
  'logo-dark.svg': logo('#ffd400'),
  'icon.svg':
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1 1"><rect width="1" height="1" fill="#ffd400"/></svg>',
  'touch-icon.png': Buffer.from([0x89, 0x50, 0x4e, 0x47]), // no test displays this image
}

const brandSettings = {
  APP_NAME: name,
  ACCENT_COLOR: '#ffd400',
  ACCENT_COLOR_DARK: '#000000',
  CORNER_RADIUS: '0',
  FONT_FAMILY: 'Georgia, serif',
  HELP_URL: 'https://www.example.com/help',
  PRIVACY_URL: '/privacy',
  TERMS_URL: 'https://www.example.com/terms',
}

const temporary = `${mkdtempSync(join(realpathSync(tmpdir()), 'production-'))}/`
const folder = `${temporary}folder/`
const run = async (
  cwd: string,
  settings: Record<string, string>,
  program: string,
  ...parameters: string[]
) => {
  const options = { cwd, env: { ...process.env, ...settings }, timeout: 400_000 }
  return (await promisify(execFile)(program, parameters, options)).stdout
}

/**
 * Builds the production folder from the files of the repository and the files of a brand.
 */
test.beforeAll(async () => {
  test.setTimeout(600_000)
  const checkout = `${temporary}checkout/`
  for (const file of files)
    if (!isIgnoredByImage(file)) cpSync(project + file, checkout + file)
  for (const file of ['.env', '.env.production'])
    writeFileSync(checkout + file, 'SECRET_OF_THE_BUILDER=secret\n')
  rmSync(`${checkout}public/brand`, { recursive: true, force: true })
  mkdirSync(`${checkout}public/brand`)
  for (const [file, content] of Object.entries(brand))
    writeFileSync(`${checkout}public/brand/${file}`, content)
  await run(temporary, {}, 'sh', `${checkout}deploy/build.sh`, folder)
  rmSync(checkout, { recursive: true })
})
test.afterAll(() => rmSync(temporary, { recursive: true, force: true }))

test('deploy/build.sh makes a folder of at most 150 MB that runs with only Node.js', async () => {
  const database = await openOwnDatabase({ migrated: false })
  const settings: Record<string, string> = { DATABASE_URL: database.url() }
  const npm = (...parameters: string[]) =>
    run(folder, settings, 'npm', 'run', '--silent', ...parameters)
  try {
    expect(
      Object.keys(
        JSON.parse(readFileSync(`${project}package.json`, 'utf8')).dependencies,
      ).sort(),
    ).toEqual(dependencies.trim().split(/\s+/))
    const entries = readdirSync(folder, { recursive: true, encoding: 'utf8' })
    const bytes = entries
      .map((entry) => statSync(folder + entry))
      .reduce((sum, { size, blocks }) => sum + Math.max(size, blocks * 512), 0)
    expect(bytes).toBeLessThan(150 * 1024 * 1024)
    expect(
      entries.filter((entry) =>
        /^\.env|^(\.git|node_modules\/(tsx|esbuild|prisma-cli|typescript))(\/|$)/.test(
          entry,
        ),
      ),
    ).toEqual([])

    expect(await npm('migrate')).toContain('Applied:\n  20261121000000_init\n')
    const server = await startServer({ ...settings, NODE_OPTIONS: '' }, { folder }) // bcrypt at its usual cost
    settings.PUBLIC_URL = server.url
    const issue = async (...parameters: string[]) => {
      const { secret } = JSON.parse(await npm('issue', '--', ...parameters, '--json'))
      return keepSecret(secret)
    }
    const code = await issue('sso-code', 'ada@example.com', '--create')
    expect((await postTo(server.url + exchangePath, { code })).status).toBe(200)
    const token = await issue('reset-token', 'ada@example.com')
    expect(
      (await postTo(server.url + resetPath, { token, password: newPassword() })).status,
    ).toBe(200)
    expect((await fetch(`${server.url}/sso/callback`)).status).toBe(200)
    expect(
      (await fetch(`${server.url}/preview`)).status,
      'only development and tests have it',
    ).toBe(404)
    await server.stop()
    const [user] = await database.sql(`
      SELECT password_hash LIKE '$2b$12$%' AS changed, (SELECT count(*)::int FROM sessions WHERE revoked_at IS NOT NULL) AS ended
      FROM users WHERE email = 'ada@example.com'`)
    expect(user).toEqual({ changed: true, ended: 1 })
    expect(await npm('clean-up')).toContain('sessions: 0 deleted')
    expect(readdirSync(folder)).not.toContain('.data')
  } finally {
    await database.drop()
  }
})

test.describe('with a brand', () => {
  let server: Server
  test.beforeAll(async () => {
    server = await startServer(brandSettings, { folder })
  })
  test.afterAll(() => server.stop())

  test('serves the brand’s files with caching, and the rate limit counts only requests for missing ones', async () => {
    const headers = { 'X-Forwarded-For': newAddress() }
    const left = async () =>
      Number(
        (await fetch(`${server.url}/api/health`, { headers })).headers
          .get('ratelimit')!
          .match(/r=(\d+)/)![1],
      )
    let expected = await left()
    for (const [file, content] of [
      ...Object.entries(brand),
      ['../favicon.ico', brand['icon.svg']!] as const,
    ]) {
      const response = await fetch(`${server.url}/brand/${file}`, { headers })
      expect([response.status, response.headers.get('cache-control')], file).toEqual([
        200,
        'public, max-age=3600',
      ])
      expect(response.headers.get('content-type')).toBe(
        file.endsWith('.png') ? 'image/png' : 'image/svg+xml',
      )
      expect(
        Buffer.from(await response.arrayBuffer()).equals(Buffer.from(content)),
        file,
      ).toBe(true)
      expected -= 1 // only the request to /api/health counts
      expect(await left(), file).toBe(expected)
    }
    const missing = await fetch(`${server.url}/brand/font.woff2`, { headers })
    expect(missing.status).toBe(404)
    expect(missing.headers.get('content-security-policy')).toContain("default-src 'none'")
    expect(await left()).toBe(expected - 2)
  })

  test('pages use the brand’s logo, icons, colors, corners, font and links in both schemes', async ({
    page,
    user,
  }) => {
    const complaints = complaintsOf(page.context())
    await page.goto(`${server.url}/reset-password?token=${await newToken(user)}`)
    const image = page.getByRole('img', { name, exact: true })
    const button = page.getByRole('button', { name: 'Save password' })
    const shown = () =>
      image.evaluate((element: HTMLImageElement) =>
        element.currentSrc.replace(location.origin, ''),
      )

    await page.emulateMedia({ colorScheme: 'light', reducedMotion: 'reduce' })
    await expect(image).toBeVisible()
    await expect.poll(shown).toBe('/brand/logo.svg')
    await expect
      .poll(() =>
        image.evaluate((element) => [element.clientWidth, element.clientHeight]),
      )
      .toEqual([400, 40])
    await expect(button).toHaveCSS('background-color', 'rgb(255, 212, 0)')
    await expect(button).toHaveCSS('color', 'rgb(0, 0, 0)')
    await expect(button).toHaveCSS('border-radius', '0px')
    await expect(button).toHaveCSS('font-family', 'Georgia, serif')
    expect(await violationsOf(page)).toEqual([])

    await page.emulateMedia({ colorScheme: 'dark', reducedMotion: 'reduce' })
    await expect.poll(shown).toBe('/brand/logo-dark.svg')
    await expect(button).toHaveCSS('background-color', 'rgb(255, 255, 255)') // a black button would look disabled
    expect(await violationsOf(page)).toEqual([])

    await expect(page.locator('link[rel=icon]')).toHaveAttribute(
      'href',
      '/brand/icon.svg',
    )
    await expect(page.locator('link[rel=apple-touch-icon]')).toHaveAttribute(
      'href',
      '/brand/touch-icon.png',
    )
    const footer = page.getByRole('contentinfo').getByRole('link')
    await expect(footer).toHaveText(['Help', 'Privacy', 'Terms'])
    expect(
      await footer.evaluateAll((links) => links.map((link) => link.getAttribute('href'))),
    ).toEqual([
      'https://www.example.com/help',
      '/privacy',
      'https://www.example.com/terms',
    ])
    await page.setViewportSize({ width: 320, height: 640 })
    expect(
      await page.evaluate(() => document.documentElement.scrollWidth),
    ).toBeLessThanOrEqual(320)
    const [above, below] = await Promise.all([image.boundingBox(), button.boundingBox()])
    expect([above!.x, above!.width]).toEqual([below!.x, below!.width])
    await page.goto(`${server.url}/api/auth/authorize`) // a page without React
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme })
      await expect
        .poll(shown)
        .toBe(colorScheme === 'light' ? '/brand/logo.svg' : '/brand/logo-dark.svg')
      expect(await violationsOf(page)).toEqual([])
    }
    expect(complaints).toEqual([])
  })
})
