import type { Page } from 'playwright/test'
import { keepSecret } from '../secrets'

/** Adds the cookies of a response to a browser, except the named one. */
export async function takeCookies(
  page: Page,
  { headers }: { headers: Headers },
  url: string,
  leftOut = '',
) {
  const cookies = headers.getSetCookie().map((line) => /^(\w+)=([^;]*)/.exec(line)!)
  for (const [, , value] of cookies) keepSecret(value!)
  const kept = cookies.filter(([, name]) => name !== leftOut)
  await page
    .context()
    .addCookies(kept.map(([, name, value]) => ({ name: name!, value: value!, url })))
}

/** Records the cookies of a browser as secrets, and returns their names. */
export async function keepCookies(page: Page): Promise<string[]> {
  const cookies = await page.context().cookies()
  for (const { value } of cookies) keepSecret(value)
  return cookies.map(({ name }) => name).sort()
}
