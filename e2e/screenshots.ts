import { mkdirSync } from 'node:fs'
import { chromium } from 'playwright'
import { show, stateNames } from './support/browsers/page-states'
import setUp from './support/global-setup'
import { stopServers } from './support/servers/kept-servers'

// `npm run screenshots` makes screenshots of every page state in both color schemes and
// three widths.

const folder = new URL('results/screenshots/', import.meta.url).pathname
const widths = [320, 390, 1280]
const schemes = ['light', 'dark'] as const

Object.assign(process.env, {
  SIGN_IN_URL: 'https://www.example.com/sign-in',
  FORGOT_PASSWORD_URL: 'https://www.example.com/forgot-password',
  APP_NAME: process.env.APP_NAME ?? 'Northwind',
})
const tearDown = await setUp()
const args = ['--no-sandbox', '--disable-gpu']
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM_PATH!,
  args,
})
mkdirSync(folder, { recursive: true })
try {
  for (const name of stateNames) {
    const context = await browser.newContext({
      baseURL: process.env.PUBLIC_URL!,
      reducedMotion: 'reduce',
    })
    const page = await context.newPage()
    await show(page, name)
    for (const colorScheme of schemes) {
      await page.emulateMedia({ colorScheme })
      for (const width of widths) {
        await page.setViewportSize({ width, height: width < 1000 ? 720 : 800 })
        await page.screenshot({
          path: `${folder}${name.replace(/\W+/g, '-')}-${colorScheme}-${width}.png`,
          fullPage: true,
        })
      }
    }
    await context.close()
  }
  console.log(
    `${stateNames.length * widths.length * schemes.length} screenshots in ${folder}`,
  )
} finally {
  await browser.close()
  await stopServers()
  await tearDown()
}
process.exit() // because connections to the database stay open for a while
