import { browserKinds } from '../support/browsers/debian-browsers'
import {
  pageTable,
  prepareRow,
  seenOn,
  sessionStates,
  type Visit,
} from '../support/browsers/page-table'
import { test } from '../support/browsers/visitor'
import type { TestServer } from '../support/fixtures'
import { allFeatures } from '../support/servers/settings'

// As e2e/pages/visits.spec.ts, for the pages with a form.

let server: TestServer
test.beforeAll(async ({ serverWith }) => {
  server = await serverWith(allFeatures)
})

for (const kind of browserKinds)
  test(`${kind} shows every form again`, async ({ open, sql }) => {
    test.setTimeout(240_000)
    const visitor = await open(kind, 390)

    for (const row of pageTable.filter(({ hasForm }) => hasForm))
      for (const state of sessionStates) {
        const { path, cookies } = await prepareRow(server, sql, row, state)
        const sees = async (visit: Visit) =>
          visitor.sees(seenOn(row, state, visit)).catch((error) => {
            throw new Error(`${row.path}, ${state}, ${visit}`, { cause: error })
          })
        await visitor.goTo(`${server.url}/robots.txt`)
        await visitor.forgetCookies()
        await visitor.takeCookies(server.url, cookies)

        await visitor.goTo(server.url + path)
        await sees('open')
        await visitor.reload()
        await sees('reload')
        await visitor.goTo(`${server.url}/robots.txt`)
        await visitor.goBack()
        await sees('back')
        await visitor.openTab()
        await visitor.goTo(server.url + path)
        await sees('second tab')
      }
  })
