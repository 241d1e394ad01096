import type { Page, Route } from 'playwright/test'
import { holders, problemsOf } from '../support/browsers/page-checks'
import { hold, respondWith } from '../support/browsers/page-states'
import {
  countPosts,
  exchangePath,
  expect,
  heading,
  holdScripts,
  newCode,
  newToken,
  resetPath,
  shortenTimeLimit,
  test,
} from '../support/fixtures'

test.describe.configure({ mode: 'parallel' })

// Tests of both pages that read a secret from their URL and post it.
const journeys = {
  'SSO callback': {
    page: '/sso/callback',
    parameter: 'code',
    newSecret: newCode,
    endpoint: exchangePath,
    titles: {
      missing: 'We couldn’t find your sign-in',
      working: 'Signing you in',
      done: 'You’re signed in',
    },
    submit: async () => {},
    ending: {
      respond: respondWith(400, { code: 'SSO_EXCHANGE_INVALID' }),
      title: 'This sign-in isn’t valid',
    },
    keepsInHistory: false,
  },
  'reset page': {
    page: '/reset-password',
    parameter: 'token',
    newSecret: newToken,
    endpoint: resetPath,
    titles: {
      missing: 'Open the link from your email',
      working: 'Choose a new password',
      done: 'Choose a new password',
    },
    submit: async (page: Page) => {
      await page.getByLabel('New password').fill('lantern otter meadow')
      await page.getByRole('button', { name: 'Save password' }).click()
    },
    ending: {
      respond: respondWith(200, { ok: true }),
      title: 'Your password has been changed',
    },
    keepsInHistory: true, // so that a reload works
  },
}

// app/_ui/post.spec.ts tests responses that are not ours.
const lostResponses: Record<string, (route: Route) => Promise<void>> = {
  'no connection': (route) => route.abort('connectionreset'),
  'no connection any more': async (route) => {
    const page = route.request().frame().page()
    await page.locator('html[data-ready]').waitFor()
    await page.context().setOffline(true)
    await route.abort('internetdisconnected')
  },
  'a redirect': (route) =>
    route.fulfill({ status: 307, headers: { Location: '/api/auth/elsewhere' } }),
}

for (const [name, journey] of Object.entries(journeys)) {
  const {
    page: path,
    parameter,
    newSecret,
    endpoint,
    titles,
    submit,
    ending,
    keepsInHistory,
  } = journey

  test(`${name}: removes the secret from the URL, the history and the referrer`, async ({
    page,
    user,
    url,
  }) => {
    const addresses: string[] = []
    page.on('request', (request) =>
      addresses.push(`${request.url()} ${request.headers().referer ?? ''}`),
    )
    await page.route(endpoint, () => {}) // the page waits for the response
    for (const separator of ['?', '#']) {
      addresses.length = 0
      const secret = await newSecret(user)
      await page.goto(`${path}${separator}${parameter}=${secret}&next=/reports&state=s`)
      await expect(heading(page)).toHaveText(titles.working)
      // until the router has written its own state into the history
      await page.waitForTimeout(500)
      expect(page.url()).not.toContain(secret)
      if (separator === '?')
        expect(page.url()).toBe(`${url}${path}?next=%2Freports&state=s`)
      const known = await page.evaluate(() => [
        location.href,
        document.referrer,
        history.state,
        Object.keys(window),
      ])
      if (keepsInHistory) known[2] = null
      expect(JSON.stringify(known)).not.toContain(secret)
      expect(JSON.stringify(known)).not.toMatch(/urlSecrets|earlyExchange/)
      expect(
        addresses.filter((address) => address.includes(secret)).length,
      ).toBeLessThanOrEqual(1) // only the page's own request
      await page.goto('about:blank')
    }
  })

  test(`${name}: with a secret in the fragment, never shows the error for a missing secret`, async ({
    page,
    user,
  }) => {
    const release = await holdScripts(page)
    await page.route(endpoint, async (route) => {
      await page.locator('html[data-ready]').waitFor()
      await route.continue()
    })
    await page.goto(`${path}#${parameter}=${await newSecret(user)}`, {
      waitUntil: 'commit',
    })
    const missing = page.locator('h1', { hasText: titles.missing })
    await expect(missing).toBeAttached()
    await expect(missing).toBeHidden()
    release()
    await expect(heading(page)).toHaveText(titles.done)
  })

  test(`${name}: accepts a link that is pasted into the open page`, async ({
    page,
    user,
  }) => {
    await page.goto(path)
    await expect(heading(page)).toHaveText(titles.missing)
    const hash = `${parameter}=${await newSecret(user)}`
    await page.evaluate((pasted) => {
      location.hash = pasted
    }, hash)
    await expect(heading(page)).toHaveText(titles.done)
    expect(page.url()).not.toContain(hash)
  })

  test(`${name}: says that the page was updated if its scripts are gone`, async ({
    page,
    user,
  }) => {
    await page.route('**/_next/static/**', (route) => route.fulfill({ status: 404 }))
    await page.route(endpoint, respondWith(503, { code: 'SERVICE_UNAVAILABLE' }, 1))
    await page.goto(`${path}?${parameter}=${await newSecret(user)}`)
    const updated = page.getByRole('heading', { name: 'This page has been updated' })
    await expect(updated).toBeVisible()
    await expect(page.getByText('This page didn’t load completely')).toBeHidden()
    expect(await problemsOf(page)).toEqual([])

    const reload = page.getByRole('button', { name: 'Reload the page' })
    const signIn = page.getByRole('link', { name: 'Sign in again' })
    await expect(keepsInHistory ? reload : signIn).toBeVisible()
    if (!keepsInHistory) return // the page has posted the code, so a reload would not help
    await page.unrouteAll()
    await reload.click()
    await expect(heading(page)).toHaveText(titles.done)
    await expect(updated).toBeHidden()
  })

  test(`${name}: does not say that the page was updated if the network fails`, async ({
    page,
    user,
  }) => {
    await page.route('**/_next/static/**', (route) => route.abort())
    await page.route(endpoint, respondWith(503, { code: 'SERVICE_UNAVAILABLE' }, 1))
    await page.goto(`${path}?${parameter}=${await newSecret(user)}`)
    await expect(page.getByText('This page didn’t load completely')).toBeVisible()
    await expect(page.getByText('This page has been updated')).toBeHidden()
  })

  test(`${name}: shows an error after ten seconds without scripts, until the scripts load`, async ({
    page,
    user,
  }) => {
    await page.clock.install()
    const release = await holdScripts(page)
    await page.route(endpoint, () => {})
    await page.goto(`${path}?${parameter}=${await newSecret(user)}`, {
      waitUntil: 'commit',
    })
    await expect(heading(page)).toHaveText(titles.working)
    const notLoaded = page.getByText('This page didn’t load completely')
    await expect(notLoaded).toBeHidden()
    await page.clock.fastForward(10_000)
    await expect(notLoaded).toBeVisible()
    release()
    await expect(notLoaded).toBeHidden()
    await expect(heading(page)).toHaveText(titles.working)
  })

  test(`${name}: after a lost response, the outcome is unknown, and nothing is sent again`, async ({
    page,
    user,
  }) => {
    const posts = countPosts(page)
    for (const [response, respond] of Object.entries(lostResponses)) {
      posts.length = 0
      await page.route(endpoint, respond, { times: 1 })
      await page.goto(`${path}?${parameter}=${await newSecret(user)}`)
      await submit(page)
      await expect(heading(page), response).toHaveText('We lost the connection')
      await page.context().setOffline(false)
      await page.waitForTimeout(500)
      expect(posts, response).toHaveLength(1)
      await expect(page.getByRole('button', { name: 'Try again' })).toHaveCount(0)
    }
  })

  test(`${name}: after thirty seconds without a response, the outcome is unknown`, async ({
    page,
    user,
  }) => {
    const limits = await shortenTimeLimit(page)
    await page.route(endpoint, () => {})
    await page.goto(`${path}?${parameter}=${await newSecret(user)}`)
    await submit(page)
    await expect(heading(page)).toHaveText('We lost the connection')
    expect(await limits()).toEqual([30_000])
  })

  test(`${name}: once the outcome is known, no object of the page contains the secret`, async ({
    page,
    user,
  }) => {
    const secret = await newSecret(user)
    const respond = await hold(page, endpoint, ending.respond)
    await page.goto(`${path}?${parameter}=${secret}`)
    await page.locator('html[data-ready]').waitFor()
    await submit(page)
    // the page needs the secret for a retry
    await expect.poll(() => holders(page, secret)).toBeGreaterThan(0)
    respond()
    await expect(heading(page)).toHaveText(ending.title)
    await expect.poll(() => holders(page, secret)).toBe(0)
  })
}
