import {
  authorize,
  claimsOf,
  newRequest,
  openDashboard,
} from '../support/browsers/dashboard'
import { expireIdToken } from '../support/browsers/expired-token'
import { signInByCode, type Tokens } from '../support/databases/account'
import { expect, newUsers, test } from '../support/fixtures'
import { newAddress } from '../support/secrets'
import { shiftClock } from '../support/servers/server'
import { passwordSignIn, shiftedClock } from '../support/servers/settings'

const hour = 60 * 60

type Answer = {
  /** The path of the redirect, or its URL at another site without the query. */
  to: string
  parameters: Record<string, string>
  asks: boolean // the provider for a new login
}

/** Sends an authorization request with other parameters, or the one of a `next`. */
async function request(
  url: string,
  query: URLSearchParams | string,
  cookies: Partial<Tokens>,
): Promise<Answer> {
  const response = await authorize(url, query, cookies)
  const { origin, pathname, searchParams } = new URL(
    response.headers.get('location')!,
    url,
  )
  return {
    to: origin === url ? pathname : origin + pathname,
    parameters: Object.fromEntries(searchParams),
    asks: response.headers.getSetCookie().some((cookie) => /^ask=ask-login/.test(cookie)),
  }
}

function newQuery(changes: Record<string, string>): URLSearchParams {
  const { query } = newRequest()
  for (const [name, value] of Object.entries(changes)) query.set(name, value)
  return query
}

/** Returns the query of the destination after a sign-in. */
const queryOfNext = ({ parameters }: Answer) =>
  new URLSearchParams(parameters.next!.split('?')[1])

const callback = 'https://app.example.com/callback'

/** What asks for a new sign-in, by a client with the ID token of another user. */
const demands: Record<string, (otherIdToken: string) => Record<string, string>> = {
  'prompt=login': () => ({ prompt: 'login' }),
  'prompt=login with others': () => ({ prompt: 'consent login select_account' }),
  'max_age=0': () => ({ max_age: '0' }),
  'a max_age below the age of the sign-in': () => ({ max_age: String(hour) }),
  'the ID token of another user': (otherIdToken) => ({ id_token_hint: otherIdToken }),
  'a fabricated ID token': () => ({ id_token_hint: 'a.b.c' }),
}
for (const [what, demand] of Object.entries(demands))
  test(`with ${what}, only a new sign-in gets a code, and the client is asked once`, async ({
    user,
    post,
    url,
    sql,
  }) => {
    const [browser, other] = [
      await signInByCode(post, user),
      await signInByCode(post, (await newUsers(sql, 1))[0]!),
    ]
    const { idToken } = await openDashboard(url, other)
    await sql(
      `UPDATE sessions SET authenticated_at = now() - interval '2 hours' WHERE id = $1`,
      [claimsOf(browser.token).sid],
    )

    const query = newQuery(demand(idToken))
    const asked = await request(url, query, browser)
    expect([asked.to, asked.parameters.another, asked.asks]).toEqual([
      '/sign-in',
      '',
      true,
    ])

    // the same request, but for what the sign-in will have done
    const after = queryOfNext(asked)
    const since = Number(after.get('since'))
    const kept = new URLSearchParams(query)
    for (const name of Object.keys(demand(idToken))) kept.delete(name)
    kept.set('since', String(since))
    expect(Object.fromEntries(after)).toEqual(Object.fromEntries(kept))

    // going there without a sign-in asks again, with the same request
    const again = await request(url, after, browser)
    expect([again.to, again.parameters.next]).toEqual(['/sign-in', asked.parameters.next])

    const answered = await request(url, after, await signInByCode(post, user))
    expect([answered.to, Object.keys(answered.parameters)]).toEqual([
      callback,
      ['code', 'iss', 'state'],
    ])

    query.set('prompt', 'none')
    const silent = await request(url, query, browser)
    const isPrompt = what.startsWith('prompt')
    expect([silent.to, silent.parameters.error]).toEqual([
      callback,
      isPrompt ? undefined : 'login_required', // prompt=none replaces the other values here
    ])
  })

test('a sign-in that is young enough, or of the right user, gets a code without a page', async ({
  signedIn: browser,
  url,
  sql,
}) => {
  const { idToken } = await openDashboard(url, browser)
  await sql(
    `UPDATE sessions SET authenticated_at = now() - interval '2 hours' WHERE id = $1`,
    [claimsOf(browser.token).sid],
  )
  for (const changes of [
    { max_age: String(3 * hour) },
    { max_age: '' },
    { max_age: '9'.repeat(15) },
    { prompt: 'consent' },
    { id_token_hint: idToken },
    { id_token_hint: expireIdToken(idToken), prompt: 'none' },
  ]) {
    const { to, parameters, asks } = await request(url, newQuery(changes), browser)
    expect([to, 'code' in parameters, asks], JSON.stringify(changes)).toEqual([
      callback,
      true,
      false,
    ])
  }
})

test('auth_time is that of the new sign-in', async ({
  signedIn: browser,
  user,
  post,
  url,
  sql,
}) => {
  await sql(
    `UPDATE sessions SET authenticated_at = now() - interval '2 hours' WHERE id = $1`,
    [claimsOf(browser.token).sid],
  )
  const old = await openDashboard(url, browser)
  const renewed = await openDashboard(url, await signInByCode(post, user))
  const [before, after] = [old, renewed].map(({ idToken }) => claimsOf(idToken).auth_time)
  expect(after - before).toBeGreaterThanOrEqual(2 * hour)
})

test('with prompt=select_account, the user continues with the account, or chooses another', async ({
  signedIn: browser,
  user,
  url,
}) => {
  const query = newQuery({ prompt: 'select_account' })
  const asked = await request(url, query, browser)
  expect([asked.to, 'another' in asked.parameters]).toEqual(['/sign-in', false])
  const page = await fetch(`${url}/sign-in?${new URLSearchParams(asked.parameters)}`, {
    headers: {
      Cookie: `refresh=${browser.refreshToken}`,
      'X-Forwarded-For': newAddress(),
    },
  })
  const html = (await page.text()).replaceAll('<wbr/>', '')
  expect(html).toContain(user.email)
  expect(html).toContain('Use another account')

  const answered = await request(url, queryOfNext(asked), browser)
  expect([answered.to, 'code' in answered.parameters]).toEqual([callback, true])

  // a live JWT alone would show the account, and lead here again
  const withoutRefresh = await request(url, query, { token: browser.token })
  expect(withoutRefresh.parameters.another).toBe('')
  expect(queryOfNext(withoutRefresh).has('prompt')).toBe(false)
})

test('login_hint fills in the email address, and nothing else', async ({
  serverWith,
}) => {
  const { url } = await serverWith(passwordSignIn)
  const fieldFor = async (hint: string) => {
    const { parameters } = await request(url, newQuery({ login_hint: hint }), {})
    const page = await fetch(`${url}/sign-in?${new URLSearchParams(parameters)}`, {
      headers: { 'X-Forwarded-For': newAddress() },
    })
    const [field] = /<input[^>]*id="email"[^>]*>/.exec(await page.text())!
    return /value="([^"]*)"/.exec(field)?.[1]
  }
  expect(await fieldFor('ada@example.com')).toBe('ada@example.com')
  for (const hint of [
    'ada',
    'ada lovelace@example.com',
    'ada@example@com',
    '\u202eada@x.com',
  ])
    expect(await fieldFor(hint), hint).toBeUndefined()
})

test('the clock of the process decides nothing', async ({ serverWith, user }) => {
  const shifted = await serverWith(shiftedClock)
  for (const shift of [-86_400, 86_400]) {
    const browser = await signInByCode(shifted.post, user)
    await shiftClock(shifted, shift)
    const { url } = shifted
    const young = await request(url, newQuery({ max_age: String(hour) }), browser)
    expect(young.to, `${shift} s`).toBe(callback)

    const asked = await request(url, newQuery({ max_age: '0' }), browser)
    expect(asked.to).toBe('/sign-in')
    const early = await request(url, queryOfNext(asked), browser)
    expect(early.to).toBe('/sign-in')
    const answered = await request(
      url,
      queryOfNext(asked),
      await signInByCode(shifted.post, user),
    )
    expect(answered.to).toBe(callback)
    await shiftClock(shifted, 0)
  }
})
