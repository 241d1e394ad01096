import type { BrowserContext } from 'playwright/test'
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
test.beforeAll(async ({ serverWith }) => {
  server = await serverWith(allFeatures)
})

for (const row of pageTable)
  test(`${row.path}${row.factor ? `, second factor ${row.factor}` : ''}`, async ({
    browserProcess,
    sql,
  }) => {
    for (const state of sessionStates) {
      const { path, cookies } = await prepareRow(server, sql, row, state)
      const context = await browserProcess.newContext({
        extraHTTPHeaders: { 'X-Forwarded-For': newAddress() },
      })
      const complaints = complaintsOf(context)
      await addCookies(context, cookies)

      const page = await context.newPage()
      const sees = (visit: Visit, tab = page) =>
        expect(heading(tab), `${state}, ${visit}`).toHaveText(seenOn(row, state, visit))
      await page.goto(server.url + path)
      await sees('open')
      await page.reload()
      await sees('reload')
      await page.goto(`${server.url}/robots.txt`)
      await page.goBack()
      await sees('back')

      const tab = await context.newPage()
      await tab.goto(server.url + path)
      await sees('second tab', tab)

      const [, secret = ''] = /(?:code|token)=(.{20,})/.exec(path) ?? []
      for (const { url } of [page, tab].map((each) => ({ url: each.url() })))
        expect(secret && url.includes(secret), state).toBeFalsy()
      expect(complaints, state).toEqual([])
      await closeContext(context)
    }
  })

function addCookies(context: BrowserContext, cookies: Record<string, string>) {
  const { url } = server
  const list = Object.entries(cookies).map(([name, value]) => ({ name, value, url }))
  return context.addCookies(list)
}
