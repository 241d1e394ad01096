import { chromium, type Page } from 'playwright'
import { languages } from '../lib/texts/language'
import { problemsOf } from './support/browsers/page-checks'
import { show, stateNames } from './support/browsers/page-states'
import setUp from './support/global-setup'
import { stopServers } from './support/servers/kept-servers'

// `npm run test:axe` checks every page state in every language (and so in both text
// directions), in both color schemes, and in the widths and text sizes below. This takes
// a quarter of an hour.

const viewports = [
  { width: 1280, height: 800 },
  { width: 320, height: 640 },
  { width: 320, height: 256 }, // a window of 1280 by 1024 pixels at a zoom of 400 %
  { width: 320, height: 640, textSize: '200%' },
]
const schemes = ['light', 'dark'] as const
const atOnce = 2

const tearDown = await setUp()
const args = ['--no-sandbox', '--disable-gpu']
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM_PATH!,
  args,
})
let checked = 0
let problems = 0
try {
  const left = Object.keys(languages).flatMap((language) =>
    stateNames.map((name) => [language, name] as const),
  )
  const total = left.length
  const check = async () => {
    for (let next = left.shift(); next; next = left.shift()) {
      await checkState(...next).catch((error: Error) =>
        report(`${next}: ${error.message}`),
      )
      if (left.length % 20 === 0)
        console.log(`${total - left.length} of ${total} states in a language …`)
    }
  }
  await Promise.all(Array.from({ length: atOnce }, check))
} finally {
  await browser.close()
  await stopServers()
  await tearDown()
}
console.log(`${checked} variants of ${stateNames.length} states, ${problems} problems`)
process.exit(problems > 0 ? 1 : 0)

function report(problem: string): void {
  problems++
  console.log(problem)
}

async function checkState(language: string, name: string): Promise<void> {
  const context = await browser.newContext({
    viewport: viewports[0]!,
    reducedMotion: 'reduce',
  })
  const page = await context.newPage()
  await show(page, name, language)

  for (const { width, height, textSize = '100%' } of viewports) {
    await page.setViewportSize({ width, height })
    await page.evaluate(
      (size) => document.documentElement.style.setProperty('font-size', size),
      textSize,
    )
    for (const colorScheme of schemes) {
      await page.emulateMedia({ colorScheme })
      const variant = `${name}, ${language}, ${colorScheme}, ${width} × ${height}, text of ${textSize}`
      for (const problem of await problemsOf(page)) report(`${variant}: ${problem}`)
      checked++
    }
  }

  await page.evaluate(() => document.documentElement.style.removeProperty('font-size'))
  if (name === 'sso: used or expired') await checkButtons(page, language)
  await context.close()
}

/**
 * Checks that the buttons of a page have the same width and that their texts fit on one
 * line.
 */
async function checkButtons(page: Page, language: string): Promise<void> {
  for (const width of [390, 1280]) {
    await page.setViewportSize({ width, height: 800 })
    const buttons = await page
      .locator('.actions .button')
      .filter({ visible: true })
      .evaluateAll((elements) =>
        elements.map((element) => element.getBoundingClientRect()),
      )
    const columns = new Set(buttons.map((box) => `${box.x} ${box.width}`))
    const isEven =
      buttons.length === 2 &&
      columns.size === 1 &&
      buttons.every((box) => box.height < 60)
    if (!isEven)
      report(`buttons, ${language}, ${width} pixels: ${JSON.stringify(buttons)}`)
  }
}
