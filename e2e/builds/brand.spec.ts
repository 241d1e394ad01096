import { execFileSync } from 'node:child_process'
import { appendFileSync, cpSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { project } from '../../bin/local'
import { expect, newToken, test } from '../support/fixtures'
import { axe, complaintsOf } from '../support/page-checks'
import { newAddress } from '../support/secrets'
import { type Server, startServer } from '../support/server'

const folder = `${project}.data/brand-app/`
const parts = ['app', 'bin', 'lib', 'prisma', 'public', 'instrumentation.ts', 'next.config.mjs', 'package.json']
const sources = [...parts, 'proxy.ts', 'raw-files.d.ts', 'tsconfig.json']

const name = 'Northwind Traders International Holding of Yellow Things'
const logo = (color: string) =>
  `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 600 60"><rect width="600" height="60" fill="${color}"/></svg>`
const brand: Record<string, string | Buffer> = {
  'logo.svg': logo('#111111'),
  'logo-dark.svg': logo('#ffd400'),
  'icon.svg':
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1 1"><rect width="1" height="1" fill="#ffd400"/></svg>',
  'touch-icon.png': Buffer.from([0x89, 0x50, 0x4e, 0x47]), // no test shows it
}

// One after the other: they share a build.
test.describe.configure({ mode: 'default' })

let server: Server

/** The brand's files are known to the build: builds the app with them, in a folder of its own. */
test.beforeAll(async () => {
  test.setTimeout(300_000)
  rmSync(folder, { recursive: true, force: true })
  for (const part of sources) cpSync(project + part, folder + part, { recursive: true })
  // Types have no part in this, and without the tests they are incomplete.
  appendFileSync(`${folder}next.config.mjs`, '\nconfig.typescript = { ignoreBuildErrors: true }\n')
  rmSync(`${folder}public/brand`, { recursive: true, force: true })
  mkdirSync(`${folder}public/brand`)
  for (const [file, content] of Object.entries(brand)) writeFileSync(`${folder}public/brand/${file}`, content)
  execFileSync(process.execPath, ['--import', 'tsx', 'bin/build.ts'], {
    cwd: folder,
    stdio: 'pipe',
    env: { ...process.env, NODE_ENV: 'production' },
  })
  const settings = {
    APP_NAME: name,
    ACCENT_COLOR: '#ffd400',
    ACCENT_COLOR_DARK: '#000000',
    CORNER_RADIUS: '0',
    FONT_FAMILY: 'Georgia, serif',
    HELP_URL: 'https://www.example.com/help',
    PRIVACY_URL: '/privacy',
    TERMS_URL: 'https://www.example.com/terms',
  }
  server = await startServer(settings, { folder: `${folder}.next/standalone/.data/brand-app/` })
})
test.afterAll(async () => {
  await server?.stop()
  rmSync(folder, { recursive: true, force: true })
})

test('the brand’s files are served, cached, and not counted; a missing one is a page that counts', async () => {
  const headers = { 'X-Forwarded-For': newAddress() }
  const left = async () =>
    Number((await fetch(`${server.url}/api/health`, { headers })).headers.get('ratelimit')!.match(/r=(\d+)/)![1])
  let expected = await left()
  for (const [file, content] of [...Object.entries(brand), ['../favicon.ico', brand['icon.svg']!] as const]) {
    const response = await fetch(`${server.url}/brand/${file}`, { headers })
    expect([response.status, response.headers.get('cache-control')], file).toEqual([200, 'public, max-age=3600'])
    expect(response.headers.get('content-type')).toBe(file.endsWith('.png') ? 'image/png' : 'image/svg+xml')
    expect(Buffer.from(await response.arrayBuffer()).equals(Buffer.from(content)), file).toBe(true)
    expected -= 1 // the request to /api/health
    expect(await left(), file).toBe(expected)
  }
  const missing = await fetch(`${server.url}/brand/font.woff2`, { headers })
  expect(missing.status).toBe(404)
  expect(missing.headers.get('content-security-policy')).toContain("default-src 'none'")
  expect(await left()).toBe(expected - 2)
})

test('logo, icons, colors, corners, font and links are the brand’s, in both schemes', async ({ page, user }) => {
  const complaints = complaintsOf(page.context())
  await page.goto(`${server.url}/reset-password?token=${await newToken(user)}`)
  const image = page.getByRole('img', { name, exact: true })
  const button = page.getByRole('button', { name: 'Save password' })
  const shown = () => image.evaluate((element: HTMLImageElement) => element.currentSrc.replace(location.origin, ''))

  await page.emulateMedia({ colorScheme: 'light', reducedMotion: 'reduce' })
  await expect(image).toBeVisible()
  await expect.poll(shown).toBe('/brand/logo.svg')
  await expect.poll(() => image.evaluate((element) => [element.clientWidth, element.clientHeight])).toEqual([400, 40])
  await expect(button).toHaveCSS('background-color', 'rgb(255, 212, 0)')
  await expect(button).toHaveCSS('color', 'rgb(0, 0, 0)')
  await expect(button).toHaveCSS('border-radius', '0px')
  await expect(button).toHaveCSS('font-family', 'Georgia, serif')
  expect((await axe(page).analyze()).violations).toEqual([])

  await page.emulateMedia({ colorScheme: 'dark', reducedMotion: 'reduce' })
  await expect.poll(shown).toBe('/brand/logo-dark.svg')
  await expect(button).toHaveCSS('background-color', 'rgb(255, 255, 255)') // black would look disabled
  expect((await axe(page).analyze()).violations).toEqual([])

  await expect(page.locator('link[rel=icon]')).toHaveAttribute('href', '/brand/icon.svg')
  await expect(page.locator('link[rel=apple-touch-icon]')).toHaveAttribute('href', '/brand/touch-icon.png')
  const footer = page.getByRole('contentinfo').getByRole('link')
  await expect(footer).toHaveText(['Help', 'Privacy', 'Terms'])
  expect(await footer.evaluateAll((links) => links.map((link) => link.getAttribute('href')))).toEqual([
    'https://www.example.com/help',
    '/privacy',
    'https://www.example.com/terms',
  ])
  await page.setViewportSize({ width: 320, height: 640 })
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(320)
  const [above, below] = await Promise.all([image.boundingBox(), button.boundingBox()])
  expect([above!.x, above!.width]).toEqual([below!.x, below!.width])
  expect(complaints).toEqual([])
})
