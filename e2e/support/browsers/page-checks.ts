import { readFileSync } from 'node:fs'
import type axe from 'axe-core'
import type { BrowserContext, Page } from 'playwright/test'
import { project } from '../../../bin/dev/local'

export const axeSource = readFileSync(
  `${project}node_modules/axe-core/axe.min.js`,
  'utf8',
)

/**
 * Returns the violations that axe finds, including target sizes (WCAG 2.2 SC 2.5.8),
 * which are off by default.
 */
export async function violationsOf(
  page: Page,
  options: axe.RunOptions = {},
  include = ['html'],
): Promise<string[]> {
  if (!(await page.evaluate(() => 'axe' in window))) await page.evaluate(axeSource)
  // A late stylesheet starts transitions of colors. Animations, such as that of a
  // spinner, may never end.
  await page.evaluate(() =>
    Promise.all(
      document
        .getAnimations()
        .map((each) => each instanceof CSSTransition && each.finished.catch(() => {})),
    ),
  )
  const all: axe.RunOptions = {
    rules: { 'target-size': { enabled: true } },
    resultTypes: ['violations'],
    ...options,
  }
  const { violations } = await page.evaluate(
    ([all, include]) =>
      (window as unknown as { axe: typeof axe }).axe.run({ include }, all),
    [all, include] as const,
  )
  return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html)}`)
}

/**
 * Returns the problems of a page: axe violations, no or several <h1>, wide content, bare
 * icons, low buttons, passwords without a user name.
 */
export async function problemsOf(page: Page): Promise<string[]> {
  const measured = await page.evaluate(() => {
    const { scrollWidth } = document.documentElement
    // No function may have a name here, because tsx would add a call of a helper that
    // does not exist in the page.
    const [titles, buttons] = ['h1', 'a.button, button'].map((selector) =>
      [...document.querySelectorAll(selector)].filter((each) =>
        each.checkVisibility({ visibilityProperty: true }),
      ),
    )
    const icons = [...document.querySelectorAll('.icon:not(.busy)')].filter((each) =>
      each.checkVisibility(),
    )
    const bare = icons.filter(
      (each) => getComputedStyle(each).backgroundColor === 'rgba(0, 0, 0, 0)',
    )
    const heights = buttons!.map((button) => button.getBoundingClientRect().height)
    const nameless = document.querySelectorAll(
      'form:has([type=password]):not(:has([autocomplete~=username]))',
    )
    return [
      ...(titles!.length === 1 ? [] : [`${titles!.length} headings of level 1`]),
      ...(scrollWidth > innerWidth ? [`${scrollWidth} pixels wide`] : []),
      ...bare.map(() => 'an icon without a circle'),
      ...heights
        .filter((height) => height > 0 && height < 44)
        .map((height) => `a button ${height} pixels high`),
      ...[...nameless].map(() => 'a form with a password but no user name'),
    ]
  })
  return [...(await violationsOf(page)), ...measured]
}

// The error “Connection closed” of a page that was left before it was completely loaded.
const leftEarly = 'Minified React error #412;'

/**
 * Collects browser errors of all pages, such as policy violations and failed hydration.
 * Ignores errors of pages that were left early, and every failed request.
 */
export function complaintsOf(context: BrowserContext): string[] {
  const complaints: string[] = []
  context.on('console', (message) => {
    if (!message.text().startsWith('Failed to load resource'))
      complaints.push(message.text())
  })
  context.on('weberror', (webError) => {
    const { message } = webError.error()
    if (!message.startsWith(leftEarly)) complaints.push(message)
  })
  return complaints
}

/**
 * Returns how many objects of a page have a property with this value, after a garbage
 * collection.
 */
export async function holders(page: Page, value: string): Promise<number> {
  const devtools = await page.context().newCDPSession(page)
  const { result: prototype } = await devtools.send('Runtime.evaluate', {
    expression: 'Object.prototype',
  })
  const { objects } = await devtools.send('Runtime.queryObjects', {
    prototypeObjectId: prototype.objectId!,
  })
  const { result } = await devtools.send('Runtime.callFunctionOn', {
    objectId: objects.objectId!,
    returnByValue: true,
    arguments: [{ value }],
    functionDeclaration: `function (value) {
      const has = (object) => {
        try {
          return Object.values(Object.getOwnPropertyDescriptors(object)).some((property) => property.value === value)
        } catch {
          return false // such as an object of another origin
        }
      }
      return this.filter(has).length
    }`,
  })
  await devtools.detach()
  return result.value
}
