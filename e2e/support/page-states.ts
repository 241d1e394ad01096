import { randomUUID } from 'node:crypto'
import type { Page, Route } from 'playwright/test'
import { paths } from '../../lib/contract/paths'
import { type Part, part, sql } from '../../lib/database/sql'
import { issueResetToken } from '../../lib/password/reset'
import { addConnection, ConnectionConflict } from '../../lib/sso/manage'
import { createUser, findUserByEmail } from '../../lib/user'
import { exchangePath, holdScripts, keepSecret, resetPath } from './fixtures'
import { type Server, startServer } from './server'

type State = { title: string; open: (page: Page) => Promise<unknown> }

const typed = 'lantern otter meadow'

/**
 * Every state of the pages, and how to reach it. Responses that are hard to get from a real server
 * are mocked.
 */
const states: Record<string, State> = {
  'start page, signed out': { title: 'You’re not signed in', open: (page) => page.goto('/') },
  'page not found': { title: 'Page not found', open: (page) => page.goto('/nothing') },

  'sso: working': { title: 'Signing you in', open: (page) => callback(page, () => {}) },
  'sso: still working': {
    title: 'Signing you in',
    open: async (page) => {
      await callback(page, () => {})
      await page.getByText('Still signing you in').waitFor()
    },
  },
  'sso: signed in': {
    title: 'You’re signed in',
    open: async (page) => {
      await page.route('/dashboard', (route) => route.fulfill({ status: 204 })) // 204 keeps the browser on the page
      await callback(page, respondWith(200, { ok: true, token: 'x', refreshToken: 'x' }), '&next=/dashboard')
    },
  },
  'sso: used or expired': {
    title: 'This sign-in has expired',
    open: (page) => callback(page, respondWith(400, { code: 'SSO_EXCHANGE_INVALID' })),
  },
  'sso: no code': { title: 'We couldn’t find your sign-in', open: (page) => page.goto('/sso/callback') },
  'sso: too many requests': {
    title: 'Your network has made too many requests',
    open: (page) => callback(page, respondWith(429, { code: 'RATE_LIMITED' }, 20)),
  },
  'sso: too many requests, long wait': {
    title: 'Your network has made too many requests',
    open: (page) => callback(page, respondWith(429, { code: 'RATE_LIMITED' }, 700)),
  },
  'sso: unavailable': {
    title: 'Sign-in isn’t available right now',
    open: (page) => callback(page, respondWith(503, { code: 'SERVICE_UNAVAILABLE' }, 1)),
  },
  'sso: unavailable after three retries': {
    title: 'Sign-in still isn’t working',
    open: async (page) => {
      await callback(page, respondWith(503, { code: 'SERVICE_UNAVAILABLE' }, 1))
      await retryThrice(page)
    },
  },
  'sso: offline': {
    title: 'You’re offline',
    open: async (page) => {
      await page.addInitScript(() => Object.defineProperty(navigator, 'onLine', { value: false }))
      await callback(page, () => {})
    },
  },
  'sso: outcome unknown': {
    title: 'We lost the connection',
    open: (page) => callback(page, (route) => route.abort()),
  },
  'sso: failed': {
    title: 'We couldn’t sign you in',
    open: (page) => callback(page, respondWith(500, { code: 'INTERNAL_ERROR' })),
  },
  'sso: scripts fail to load': {
    title: 'This page didn’t load completely',
    open: async (page) => {
      await page.route('**/_next/static/**', (route) => route.abort())
      await callback(page, respondWith(400, { code: 'SSO_EXCHANGE_INVALID' }))
    },
  },
  ...Object.fromEntries(
    Object.entries({
      access_denied: 'You weren’t signed in',
      login_required: 'Sign in to your organisation again',
      temporarily_unavailable: 'Your organisation’s sign-in service isn’t available',
      server_error: 'Your organisation’s sign-in service had a problem',
      attempt_invalid: 'This sign-in can’t be continued',
      response_invalid: 'We couldn’t verify your sign-in',
      no_access: 'You don’t have access to {app}',
      connection_unavailable: 'This way to sign in isn’t available',
      unavailable: 'Sign-in isn’t available right now',
      something_else: 'Your organisation’s sign-in service didn’t sign you in',
    }).map(([error, title]) => [
      `sso: provider error ${error}`,
      { title, open: (page: Page) => page.goto(`/sso/callback?error=${error}&error_description=<b>Call+555</b>`) },
    ]),
  ),

  'sign in: form': { title: 'Sign in', open: (page) => openSignIn(page, '') },
  'sign in: form with an error': {
    title: 'Sign in',
    open: async (page) => {
      await openSignIn(page, '?error=unknown')
      await page.locator('#email-error').waitFor()
    },
  },

  'password sign-in: e-mail first': {
    title: 'Sign in',
    open: async (page) => {
      await openPasswordSignIn(page, '')
      await page.getByText('Enter your email address').waitFor()
    },
  },
  'password sign-in: password': { title: 'Enter your password', open: (page) => openPasswordStep(page) },
  'password sign-in: both at once, shown': {
    title: 'Sign in',
    open: async (page) => {
      await openPasswordSignIn(page, '?step=password')
      await page.getByRole('button', { name: 'Show password' }).click()
      await page.getByLabel('Password', { exact: true }).fill(typed)
    },
  },
  'password sign-in: no e-mail address': {
    title: 'Sign in',
    open: async (page) => {
      await openPasswordSignIn(page, '')
      await page.getByLabel('Email address').fill('ada@localhost')
      await page.getByRole('button', { name: 'Continue' }).click()
      await page.locator('#email-error').waitFor()
    },
  },
  'password sign-in: wrong': {
    title: 'Enter your password',
    open: (page) => submitPassword(page, respondWith(400, { code: 'SIGN_IN_INVALID' }), 'There is a problem'),
  },
  'password sign-in: sending': {
    title: 'Enter your password',
    open: (page) => submitPassword(page, () => {}, 'Signing you in'),
  },
  'password sign-in: still sending': {
    title: 'Enter your password',
    open: (page) => submitPassword(page, () => {}, 'Still signing you in'),
  },
  'password sign-in: too many attempts': {
    title: 'Enter your password',
    open: (page) => submitPassword(page, respondWith(429, { code: 'RATE_LIMITED' }, 700), 'Sign-in is paused'),
  },
  'password sign-in: unavailable': {
    title: 'Enter your password',
    open: (page) =>
      submitPassword(page, respondWith(503, { code: 'SERVICE_UNAVAILABLE' }, 5), 'Sign-in isn’t available right now'),
  },
  'password sign-in: outcome unknown': {
    title: 'Enter your password',
    open: (page) => submitPassword(page, (route) => route.abort(), 'We lost the connection'),
  },
  'password sign-in: failed': {
    title: 'Enter your password',
    open: (page) => submitPassword(page, respondWith(500, { code: 'INTERNAL_ERROR' }), 'Support reference'),
  },
  'password sign-in: offline': {
    title: 'Enter your password',
    open: async (page) => {
      await openPasswordStep(page)
      await page.evaluate(() => Object.defineProperty(navigator, 'onLine', { value: false }))
      await page.getByLabel('Password', { exact: true }).fill(typed)
      await page.getByRole('button', { name: 'Sign in', exact: true }).click()
      await page.getByText('You’re offline').waitFor()
    },
  },
  'password sign-in: scripts fail to load': {
    title: 'Sign in',
    open: async (page) => {
      await page.route('**/_next/static/**', (route) => route.abort())
      await openPasswordSignIn(page, '?step=password')
      await page.getByText('This page didn’t load completely').waitFor()
    },
  },

  'reset: form': { title: 'Choose a new password', open: (page) => openReset(page) },
  'reset: form, restored after a reload': {
    title: 'Choose a new password',
    open: async (page) => {
      await openReset(page)
      await page.reload()
    },
  },
  'reset: form, weak password': {
    title: 'Choose a new password',
    open: async (page) => {
      await openReset(page)
      await page.getByLabel('New password').pressSequentially('sunshine1')
      await page.getByText('Easy to guess so far').waitFor()
    },
  },
  'reset: form, strong password shown': {
    title: 'Choose a new password',
    open: async (page) => {
      await openReset(page)
      await page.getByRole('button', { name: 'Show password' }).click()
      await page.getByLabel('New password').pressSequentially(typed)
      await page.getByText('Very strong').waitFor()
    },
  },
  'reset: form with an error': {
    title: 'Choose a new password',
    open: async (page) => {
      await submit(
        page,
        respondWith(400, {
          code: 'VALIDATION_ERROR',
          issues: [{ path: ['password'], code: 'too_guessable', message: '' }],
        }),
      )
      await page.getByText('There is a problem').waitFor()
    },
  },
  'reset: sending': {
    title: 'Choose a new password',
    open: async (page) => {
      await submit(page, () => {})
      await page.getByRole('button', { name: 'Saving your password…' }).waitFor()
    },
  },
  'reset: still sending': {
    title: 'Choose a new password',
    open: async (page) => {
      await submit(page, () => {})
      await page.getByText('Still saving').waitFor()
    },
  },
  'reset: submitted before the scripts have loaded': {
    title: 'Choose a new password',
    open: async (page) => {
      await holdScripts(page)
      await submit(page, () => {})
      await page.getByText('Loading…').waitFor()
    },
  },
  'reset: scripts fail to load': {
    title: 'Choose a new password',
    open: async (page) => {
      await page.route('**/_next/static/**', (route) => route.abort())
      await submit(page, () => {})
      await page.getByText('This page didn’t load completely').waitFor()
    },
  },
  'reset: accepted': {
    title: 'Your password has been changed',
    open: (page) => submit(page, respondWith(200, { ok: true })),
  },
  'reset: link that the server rejected': {
    title: 'This link no longer works',
    open: (page) =>
      submit(
        page,
        respondWith(400, {
          code: 'VALIDATION_ERROR',
          issues: [{ path: ['token'], code: 'invalid_or_expired', message: '' }],
        }),
      ),
  },
  'reset: used link': {
    title: 'This link has already been used',
    open: (page) => openReset(page, part`used_at = now()`),
  },
  'reset: expired link': {
    title: 'This link has expired',
    open: (page) => openReset(page, part`expires_at = now()`),
  },
  'reset: unknown link': {
    title: 'This link isn’t valid',
    open: (page) => page.goto('/reset-password?token=x'),
  },
  'reset: password changed, reloaded': {
    title: 'Your password has been changed',
    open: (page) => page.goto('/reset-password/done'),
  },
  'reset: no link': { title: 'Open the link from your email', open: (page) => page.goto('/reset-password') },
  'reset: too many requests': {
    title: 'Choose a new password',
    open: async (page) => {
      await submit(page, respondWith(429, { code: 'RATE_LIMITED' }, 700))
      await banner(page, 'Your network has made too many requests')
    },
  },
  'reset: unavailable': {
    title: 'Choose a new password',
    open: async (page) => {
      await submit(page, respondWith(503, { code: 'SERVICE_UNAVAILABLE' }, 1))
      await banner(page, 'We can’t save your password right now')
    },
  },
  'reset: unavailable after three retries': {
    title: 'Choose a new password',
    open: async (page) => {
      await submit(page, respondWith(503, { code: 'SERVICE_UNAVAILABLE' }, 1))
      await retryThrice(page)
      await banner(page, 'We still can’t save your password')
    },
  },
  'reset: offline': {
    title: 'Choose a new password',
    open: async (page) => {
      await page.addInitScript(() => Object.defineProperty(navigator, 'onLine', { value: false }))
      await submit(page, () => {})
      await banner(page, 'You’re offline')
    },
  },
  'reset: outcome unknown': {
    title: 'We lost the connection',
    open: (page) => submit(page, respondWith(503, { code: 'SERVICE_UNAVAILABLE', outcome: 'unknown' }, 5)),
  },
  'reset: failed': {
    title: 'We couldn’t change your password',
    open: (page) => submit(page, respondWith(500, { code: 'INTERNAL_ERROR' })),
  },
}

const statesSlug = 'page-states'

let passwordServer: Promise<Server> | undefined

/** Opens the sign-in page of another server of this process, on which users have passwords. */
async function openPasswordSignIn(page: Page, query: string): Promise<void> {
  passwordServer ??= startServer({ PASSWORD_SIGN_IN: 'true', FORGOT_PASSWORD_URL: '/forgot-password' }).then(
    (server) => {
      process.once('exit', () => server.process.kill('SIGKILL'))
      return server
    },
  )
  await addStatesConnection()
  await page.goto(`${(await passwordServer).url}/sign-in${query}`, { waitUntil: 'commit' })
}

async function openPasswordStep(page: Page): Promise<void> {
  await openPasswordSignIn(page, '')
  await page.getByLabel('Email address').fill('ada@example.com')
  await page.getByRole('button', { name: 'Continue' }).click()
  await page.getByLabel('Password', { exact: true }).waitFor()
}

async function submitPassword(page: Page, act: (route: Route) => unknown, text: string): Promise<void> {
  await page.route(`**${paths.signIn}`, act)
  await openPasswordStep(page)
  await page.getByLabel('Password', { exact: true }).fill(typed)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
  await page.getByText(text).first().waitFor()
}

/** Opens the sign-in page with at least one connection, which has a button. */
async function openSignIn(page: Page, query: string): Promise<void> {
  await addStatesConnection()
  await page.goto(`/sign-in${query}`, { waitUntil: 'commit' })
}

async function addStatesConnection(): Promise<void> {
  await addConnection({
    slug: statesSlug,
    name: 'Northwind Traders',
    settings: { kind: 'oidc', issuer: 'https://idp.example.com', clientId: 'x' },
    secrets: { clientSecret: 'x' },
    domains: ['page-states.example.org'],
    provision: false,
    listed: true,
    allowPasswords: true,
  }).catch((error) => {
    if (!(error instanceof ConnectionConflict)) throw error // another state added it
  })
}

export const stateNames = Object.keys(states)

/** Opens a page in one of these states and waits for its title. */
export async function show(page: Page, name: string): Promise<void> {
  const { open, ...state } = states[name]!
  const title = state.title.replace('{app}', process.env.APP_NAME ?? 'Dashboard')
  await open(page)
  await page.getByRole('heading', { level: 1, name: title, exact: true }).waitFor()
}

/** A mocked response of our API. */
export function respondWith(status: number, body: object, retryAfter?: number): (route: Route) => Promise<void> {
  const headers = retryAfter ? { 'Retry-After': String(retryAfter) } : undefined
  const json = {
    ok: false,
    message: 'A message for programmers.',
    requestId: '7f3c1f0a-58a1-4f53-9f25-3d1a0c2b9e11',
    ...body,
  }
  return (route) => route.fulfill({ status, headers, json })
}

/** Presses “Try again” three times, as soon as it is enabled. */
export async function retryThrice(page: Page): Promise<void> {
  for (let retry = 0; retry < 3; retry++) {
    await page.getByText('You can try again now').waitFor()
    await page.getByRole('button', { name: 'Try again' }).click()
    await page.getByText('You can try again now').waitFor({ state: 'detached' })
  }
}

async function callback(page: Page, act: (route: Route) => unknown, more = ''): Promise<void> {
  await page.route(exchangePath, act)
  await page.goto(`/sso/callback?code=x${more}`, { waitUntil: 'commit' })
}

async function submit(page: Page, act: (route: Route) => unknown): Promise<void> {
  await page.route(resetPath, act)
  await openReset(page)
  await page.getByLabel('New password').fill(typed)
  await page.getByRole('button', { name: 'Save password' }).click()
}

/** Opens a new link of a new user, after a change to its token's row. */
async function openReset(page: Page, change?: Part): Promise<void> {
  const email = `reader-${randomUUID()}@example.com`
  await createUser(email)
  const { id } = (await findUserByEmail(email))!
  const token = keepSecret((await issueResetToken(id)).secret)
  if (change) await sql`UPDATE reset_tokens SET ${change} WHERE user_id = ${id}`
  await page.goto(`/reset-password?token=${token}`, { waitUntil: 'commit' })
}

/** Waits for the banner of a retry, above the form. */
function banner(page: Page, title: string): Promise<void> {
  return page.getByRole('heading', { level: 2, name: title }).waitFor()
}
