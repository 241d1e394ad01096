import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { launch } from 'puppeteer-core'
import { Builder, By, Key } from 'selenium-webdriver'
import { freePort } from '../servers/server'
import { findBrowserPrograms } from '../servers/tools'

// Selenium must not download a driver or report its use.
Object.assign(process.env, { SE_OFFLINE: 'true', SE_AVOID_STATS: 'true' })

const waitMs = 15_000
const height = 800

export const browserKinds = ['Firefox', 'WebKitGTK'] as const
export type BrowserKind = (typeof browserKinds)[number]

/** A browser with one window. An element is named by its XPath, and may appear later. */
export type DebianBrowser = {
  goTo: (url: string) => Promise<void>
  reload: () => Promise<void>
  goBack: () => Promise<void>
  /** Opens an empty tab in place of this one, with the same cookies. */
  openTab: () => Promise<void>
  click: (xpath: string) => Promise<void>
  /** Replaces the text of a field. */
  fill: (xpath: string, text: string) => Promise<void>
  pressEnter: (xpath: string) => Promise<void>
  /** Waits until an element is visible. */
  find: (xpath: string) => Promise<unknown>
  /** Runs the body of a function in the page, and returns what it returns. */
  run: (script: string) => Promise<unknown>
  /** Adds cookies, by name, while a page of `url` is open. */
  takeCookies: (url: string, cookies: Record<string, string>) => Promise<void>
  forgetCookies: () => Promise<void>
  /** Returns what the browser has written to the console: only of Firefox. */
  console: () => string[]
  close: () => Promise<void>
}

/** Opens a browser of Debian with a window of this width, and an empty profile. */
export function openBrowser(kind: BrowserKind, width: number): Promise<DebianBrowser> {
  return kind === 'Firefox' ? openFirefox(width) : openWebKit(width)
}

// The error of a request of a page that was left before its response.
const leftEarly = 'NS_BINDING_ABORTED'

let firefox: ReturnType<typeof launch> | undefined

/** Opens a window of the one process of Firefox, with cookies of its own. */
async function openFirefox(width: number): Promise<DebianBrowser> {
  const executablePath = findBrowserPrograms().firefox
  firefox ??= launch({ browser: 'firefox', executablePath, defaultViewport: null })
  const context = await (await firefox).createBrowserContext()

  const lines: string[] = []
  const newPage = async () => {
    const page = await context.newPage()
    await page.setViewport({ width, height })
    page.on('console', (message) => {
      if (['error', 'warn'].includes(message.type())) lines.push(message.text())
    })
    page.on('pageerror', (error) => {
      if (!String(error).includes(leftEarly)) lines.push(String(error))
    })
    return page
  }
  let page = await newPage()

  const find = async (xpath: string) =>
    (await page.waitForSelector(`xpath/${xpath}`, { visible: true, timeout: waitMs }))!

  return {
    goTo: async (url) => void (await page.goto(url)),
    reload: async () => void (await page.reload()),
    goBack: async () => void (await page.goBack()),
    openTab: async () => {
      const previous = page
      page = await newPage()
      await previous.close()
    },
    click: async (xpath) => (await find(xpath)).click(),
    fill: async (xpath, text) => {
      const field = await find(xpath)
      await field.evaluate((element) => (element as HTMLInputElement).select())
      await field.type(text)
    },
    pressEnter: async (xpath) => (await find(xpath)).press('Enter'),
    find,
    run: (script) => page.evaluate(`(async () => { ${script} })()`),
    takeCookies: async (url, cookies) => {
      const domain = new URL(url).hostname
      for (const [name, value] of Object.entries(cookies))
        await context.setCookie({ name, value, domain, path: '/' })
    },
    forgetCookies: async () => context.deleteCookie(...(await context.cookies())),
    console: () => lines,
    close: () => context.close(),
  }
}

/** Stops the process of Firefox, if it runs. */
export async function stopFirefox(): Promise<void> {
  await (await firefox)?.close()
}

async function openWebKit(width: number): Promise<DebianBrowser> {
  const { webKitDriver, miniBrowser } = findBrowserPrograms()
  const screen = await startScreen(width)
  const port = await freePort()
  const server = spawn(webKitDriver, [`--port=${port}`], screen.options)
  await waitForPort(port)

  // an ordinary window of 390 pixels would be too narrow for the tool bar
  const args = ['--automation', '--full-screen']
  const driver = await new Builder()
    .usingServer(`http://127.0.0.1:${port}`)
    .withCapabilities({
      browserName: 'MiniBrowser',
      'webkitgtk:browserOptions': { binary: miniBrowser, args },
    })
    .build()

  await driver.manage().window().setRect({ x: 0, y: 0, width, height })
  const isResized = async () =>
    (await driver.executeScript('return innerWidth')) === width
  await driver.wait(isResized, waitMs, 'the window has another width')

  const findVisible = async (xpath: string) => {
    for (const element of await driver.findElements(By.xpath(xpath)))
      if (await element.isDisplayed().catch(ignoreRemoved)) return element
    return null
  }
  const find = async (xpath: string) =>
    (await driver.wait(() => findVisible(xpath), waitMs, xpath))!

  return {
    goTo: (url) => driver.get(url),
    reload: () => driver.navigate().refresh(),
    goBack: async () => {
      // Sometimes, the driver responds before the browser goes back, and never answers a
      // command that the page which is left has got. The URL does not come from the page.
      const left = await driver.getCurrentUrl()
      await driver.navigate().back()
      await driver.wait(async () => (await driver.getCurrentUrl()) !== left, waitMs)
    },
    openTab: async () => {
      const previous = await driver.getWindowHandle()
      await driver.switchTo().newWindow('tab')
      const opened = await driver.getWindowHandle()
      await driver.switchTo().window(previous)
      await driver.close()
      await driver.switchTo().window(opened)
    },
    click: async (xpath) => (await find(xpath)).click(),
    fill: async (xpath, text) => {
      const field = await find(xpath)
      await field.clear()
      await field.sendKeys(text)
    },
    pressEnter: async (xpath) => (await find(xpath)).sendKeys(Key.ENTER),
    find,
    run: (script) => driver.executeScript(script),
    takeCookies: async (_, cookies) => {
      for (const [name, value] of Object.entries(cookies))
        await driver.manage().addCookie({ name, value })
    },
    forgetCookies: () => driver.manage().deleteAllCookies(),
    console: () => [],
    close: async () => {
      await driver.quit()
      await Promise.all([server, screen.process].map(stop))
    },
  }
}

/**
 * Opens pages in WebKitGTK, each in a tab, for some seconds. Returns what it has written
 * to the console. Without a driver, because a browser with one does not print that.
 */
export async function consoleOfWebKit(urls: string[]): Promise<string[]> {
  const screen = await startScreen(1280)
  const mark = 'the console is printed'
  const firstPage = `data:text/html,<script>console.error("${mark}")</script>`

  const browser = spawn(
    findBrowserPrograms().miniBrowser,
    ['--enable-write-console-messages-to-stdout=true', firstPage, ...urls],
    screen.options,
  )
  const lines: string[] = []
  const isPrinted = new Promise<void>((resolve) => {
    const read = (line: string) => {
      if (line.includes(mark)) resolve()
      else if (line.includes('CONSOLE')) lines.push(line)
    }
    for (const stream of [browser.stdout, browser.stderr])
      createInterface(stream).on('line', read)
  })
  await isPrinted
  await sleep(8_000) // the pages load

  await Promise.all([browser, screen.process].map(stop))
  return lines
}

/** Starts a display, and returns the options of programs that use it. */
async function startScreen(width: number) {
  const size = `${width}x${height}x24`
  const screen = spawn(
    findBrowserPrograms().xvfb,
    ['-displayfd', '1', '-screen', '0', size],
    { stdio: ['ignore', 'pipe', 'ignore'] },
  )
  const [display] = await once(screen.stdout, 'data')

  return {
    process: screen,
    options: {
      env: {
        ...process.env,
        DISPLAY: `:${String(display).trim()}`,
        WEBKIT_DISABLE_SANDBOX_THIS_IS_DANGEROUS: '1', // root has no sandbox
      },
    },
  }
}

const ignoreRemoved = () => false

async function waitForPort(port: number): Promise<void> {
  for (let attempt = 0; attempt < 100; attempt++) {
    const ready = await fetch(`http://127.0.0.1:${port}/status`).then(
      ({ ok }) => ok,
      () => false,
    )
    if (ready) return
    await sleep(100)
  }
  throw new Error('WebKitWebDriver does not respond')
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  child.kill()
  await once(child, 'exit')
}
