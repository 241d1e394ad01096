import { test as base, expect } from '../fixtures'
import {
  type BrowserKind,
  type DebianBrowser,
  openBrowser,
  stopFirefox,
} from './debian-browsers'

/** A user in a browser of Debian. Elements are named as the user sees them. */
export class Visitor {
  constructor(readonly browser: DebianBrowser) {}

  goTo = (url: string): Promise<void> => this.browser.goTo(url)
  fill = (id: string, text: string): Promise<void> => this.browser.fill(idOf(id), text)
  press = (button: string): Promise<void> => this.browser.click(nameOf('button', button))
  follow = (link: string): Promise<void> => this.browser.click(nameOf('a', link))
  sees = (text: string): Promise<unknown> =>
    this.browser.find(
      `//body//*[not(self::script)][contains(normalize-space(text()), "${text}")]`,
    )

  /** Fills a field, and sends its form by the Enter key. */
  async send(id: string, text: string): Promise<void> {
    await this.fill(id, text)
    await this.browser.pressEnter(idOf(id))
  }

  /** Returns the text of the first element of a CSS selector. */
  textOf = async (selector: string): Promise<string> =>
    String(
      await this.browser.run(`return document.querySelector('${selector}').innerText`),
    )

  reload = (): Promise<void> => this.browser.reload()
  goBack = (): Promise<void> => this.browser.goBack()
  openTab = (): Promise<void> => this.browser.openTab()
  takeCookies = (url: string, cookies: Record<string, string>): Promise<void> =>
    this.browser.takeCookies(url, cookies)
  forgetCookies = (): Promise<void> => this.browser.forgetCookies()
}

const idOf = (id: string) => `//*[@id="${id}"]`
const nameOf = (tag: string, name: string) => `//${tag}[normalize-space()="${name}"]`

/** Tests with `open`, which opens a browser. Its console must stay empty. */
export const test = base.extend<
  { open: (kind: BrowserKind, width?: number) => Promise<Visitor> },
  { firefoxStop: undefined }
>({
  firefoxStop: [
    async ({}, use) => {
      await use(undefined)
      await stopFirefox()
    },
    { scope: 'worker', auto: true },
  ],
  open: async ({}, use) => {
    const opened: DebianBrowser[] = []
    await use(async (kind, width = 1280) => {
      const browser = await openBrowser(kind, width)
      opened.push(browser)
      return new Visitor(browser)
    })

    const printed = opened.flatMap((browser) => browser.console())
    await Promise.all(opened.map((browser) => browser.close()))
    expect(printed).toEqual([])
  },
})
