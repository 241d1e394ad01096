import type { BrowserContext, Page } from 'playwright/test'
import { closeContext } from '../support/browsers/close-context'
import { complaintsOf } from '../support/browsers/page-checks'
import {
  pageTable,
  prepareRow,
  seenOn,
  sessionStates,
  type Visit,
} from '../support/browsers/page-table'
import { expect, heading, type TestServer, test } from '../support/fixtures'
import { newAddress } from '../support/secrets'
import { allFeatures } from '../support/servers/settings'

// Visits every page by its URL, by a reload, by Back, and in a second tab: signed in, signed
// out, and with an expired JWT.

test.describe.configure({ mode: 'parallel' })

let server: TestServer
/** All visits of a worker share one browser, which has the scripts of the pages. */
let context: BrowserContext
let page: Page
let secondTab: Page
let complaints: string[]

test.beforeAll(async ({ serverWith, browserProcess }) => {
  server = await serverWith(allFeatures)
  context = (await browserProcess.newContext()) as BrowserContext
  complaints = complaintsOf(context)
  page = await context.newPage()
  secondTab = await context.newPage()
})
test.afterAll(async () => {
  if (context) await closeContext(context)
})

for (const row of pageTable)
  test(`${row.path}${row.factor ? `, second factor ${row.factor}` : ''}`, async ({
    sql,
  }) => {
    for (const state of sessionStates) {
      const { path, cookies } = await prepareRow(server, sql, row, state)
      await beginAs(cookies)

      const sees = (visit: Visit, tab = page) =>
        expect(heading(tab), `${state}, ${visit}`).toHaveText(seenOn(row, state, visit))
      await page.goto(server.url + path)
      await sees('open')
      await page.reload()
      await sees('reload')
      await page.goto(emptyPage())
      await page.goBack()
      await sees('back')
      await secondTab.goto(server.url + path)
      await sees('second tab', secondTab)

      const [, secret = ''] = /(?:code|token)=(.{20,})/.exec(path) ?? []
      for (const tab of [page, secondTab])
        expect(secret && tab.url().includes(secret), state).toBeFalsy()
      expect(complaints, state).toEqual([])
    }
  })

/** Makes the browser one of another user, who has only these cookies. */
async function beginAs(cookies: Record<string, string>): Promise<void> {
  await context.setExtraHTTPHeaders({ 'X-Forwarded-For': newAddress() })
  const empty = async (tab: Page) => {
    await tab.goto(emptyPage()) // so that no earlier page stores anything later
    await tab.evaluate(() => [sessionStorage, localStorage].map((each) => each.clear()))
  }
  await Promise.all([page, secondTab].map(empty))
  await context.clearCookies()

  const { url } = server
  const list = Object.entries(cookies).map(([name, value]) => ({ name, value, url }))
  await context.addCookies(list)
}

/** A page of the same origin without scripts. */
const emptyPage = () => `${server.url}/robots.txt`
