import { chromium } from 'playwright'
import { languages } from '../lib/page/language'
import setUp from './support/global-setup'
import { axe } from './support/page-checks'
import { show, stateNames } from './support/page-states'

// `npm run test:axe`: axe on every page state, in every language, both color schemes and three
// viewports, which also must not scroll sideways. Takes half an hour.

const viewports = [
  { width: 1280, height: 800 },
  { width: 320, height: 640 },
  { width: 320, height: 256, deviceScaleFactor: 4 }, // 1280 by 1024 at a zoom of 400 %
]
const schemes = ['light', 'dark'] as const
const atOnce = 2

const tearDown = await setUp()
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM_PATH,
  args: ['--no-sandbox', '--disable-gpu'],
})
let checked = 0
let problems = 0
try {
  const left = languages().flatMap(([language]) => stateNames.map((name) => [language, name] as const))
  const total = left.length
  const check = async () => {
    for (let next = left.shift(); next; next = left.shift()) {
      await checkState(...next).catch((error: Error) => report(`${next}: ${error.message}`))
      if (left.length % 20 === 0) console.log(`${total - left.length} of ${total} states in a language …`)
    }
  }
  await Promise.all(Array.from({ length: atOnce }, check))
} finally {
  await browser.close()
  await tearDown()
}
console.log(`${checked} variants of ${stateNames.length} states, ${problems} problems`)
process.exit(problems > 0 ? 1 : 0) // the previews do not stop by themselves

function report(problem: string): void {
  problems++
  console.log(problem)
}

async function checkState(language: string, name: string): Promise<void> {
  for (const { width, height, deviceScaleFactor } of viewports) {
    const context = await browser.newContext({
      viewport: { width, height },
      deviceScaleFactor,
      reducedMotion: 'reduce',
    })
    const page = await context.newPage()
    await show(page, name, language)
    for (const colorScheme of schemes) {
      await page.emulateMedia({ colorScheme })
      const variant = `${name}, ${language}, ${colorScheme}, ${width} × ${height}`
      const { violations } = await axe(page).analyze()
      for (const { id, nodes } of violations) report(`${variant}: ${id}: ${nodes.map(({ html }) => html)}`)
      const scrolled = await page.evaluate(() => document.documentElement.scrollWidth)
      if (scrolled > width) report(`${variant}: ${scrolled} pixels wide`)
      checked++
    }
    await context.close()
  }
}
