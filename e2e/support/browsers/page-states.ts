import type { Page, Route } from 'playwright/test'
import { createPath, states } from '../../../app/preview/states'
import { UsageError } from '../../../lib/usage-error'
import { addTestConnection } from '../databases/connection'
import { findOrStart } from '../servers/kept-servers'
import { allFeatures, requiredFactor } from '../servers/settings'

export const stateNames = Object.keys(states)

/** Opens a page in a state from states.ts, in a language, and waits until it is shown. */
export async function show(page: Page, name: string, language = 'en'): Promise<void> {
  const { passwords, mail, required, ...state } = states[name]!
  const withAll = required ? 'required' : 'all'
  const url = await previewOf(passwords || mail ? withAll : 'none')

  await page.goto(`${url}${createPath(name)}?language=${language}`, {
    waitUntil: 'commit',
  }) // the page may load forever
  await page
    .locator(state.digest ? 'html[data-shown]' : `html[lang=${language}][data-shown]`)
    .waitFor({ state: 'attached' })

  const title = state.title.replace('{app}', process.env.APP_NAME ?? 'Dashboard')
  const heading = language === 'en' ? { name: title, exact: true } : {}
  await page.getByRole('heading', { level: 1, ...heading }).waitFor()
}

/** The optional features of a server. `required`: all, and a required second factor. */
type Features = keyof typeof settingsOf
const settingsOf = { all: allFeatures, required: requiredFactor, none: {} }
const servers = new Map<Features, Promise<string>>()

/** Returns the URL of a server whose preview has these features. */
export function previewOf(features: Features): Promise<string> {
  const server = servers.get(features) ?? start(settingsOf[features])
  servers.set(features, server)
  return server
}

async function start(settings: Record<string, string>): Promise<string> {
  await addListedConnection()
  const { server } = await findOrStart(settings)
  return server.url
}

async function addListedConnection(): Promise<void> {
  const own = {
    slug: 'local',
    name: 'Northwind Traders',
    listed: true,
    allowPasswords: true,
  }
  await addTestConnection('page-states.example.org', own).catch((error) => {
    // another process has already added it
    if (!(error instanceof UsageError)) throw error
  })
}

/** A mocked response of our API. */
export function respondWith(
  status: number,
  body: object,
  retryAfter?: number,
): (route: Route) => Promise<void> {
  const headers: Record<string, string> = retryAfter
    ? { 'Retry-After': String(retryAfter) }
    : {}
  const json = {
    ok: false,
    message: 'A message for programmers.',
    requestId: '7f3c1f0a-58a1-4f53-9f25-3d1a0c2b9e11',
    ...body,
  }
  return (route) => route.fulfill({ status, headers, json })
}

/** Delays the requests of a page to a path until the returned function is called. */
export async function hold(
  page: Page,
  path: string,
  respond = (route: Route) => route.continue(),
) {
  let release = () => {}
  const released = new Promise<void>((resolve) => (release = resolve))
  await page.route(`**${path}`, async (route) => {
    await released
    await respond(route)
  })
  return release
}

/**
 * Presses “Try again” three times, each time as soon as it is enabled. The clock of the
 * page must be installed.
 */
export async function retryThrice(page: Page): Promise<void> {
  for (let retry = 0; retry < 3; retry++) {
    await page.clock.fastForward(1_000)
    await page.getByText('You can try again now').waitFor()
    await page.getByRole('button', { name: 'Try again' }).click()
    await page.getByText('You can try again now').waitFor({ state: 'detached' })
  }
}
