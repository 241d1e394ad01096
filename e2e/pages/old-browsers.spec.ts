import { expect, heading, newToken, test } from '../support/fixtures'
import { complaintsOf } from '../support/page-checks'
import { show } from '../support/page-states'

test.describe('in a browser without AbortSignal.timeout, such as Safari 15', () => {
  for (const name of [
    'reset: accepted',
    'sso: signed in',
    'sso: signed in already',
    'password sign-in: password',
    'password sign-in: wrong',
  ])
    test(name, async ({ page }) => {
      await page.addInitScript(() => Reflect.deleteProperty(AbortSignal, 'timeout'))
      const complaints = complaintsOf(page.context())
      await show(page, name)
      expect(complaints).toEqual([])
    })
})

test.describe('a script that throws leads to an error, and sends nothing', () => {
  const breakSending = () => {
    window.fetch = () => {
      throw new Error('as the test wants')
    }
  }

  test('on the reset page', async ({ page, user }) => {
    await page.addInitScript(breakSending)
    await page.goto(`/reset-password?token=${await newToken(user)}`)
    await page.getByLabel('New password').fill('lantern otter meadow')
    await page.getByRole('button', { name: 'Save password' }).click()
    await expect(heading(page)).toHaveText('We couldn’t change your password')
  })

  test('on the SSO callback', async ({ page }) => {
    await page.addInitScript(breakSending)
    await page.goto('/sso/callback?code=x')
    await expect(heading(page)).toHaveText('We couldn’t sign you in')
    await expect(page.getByRole('link', { name: 'Sign in again' })).toBeVisible()
  })

  test('on the sign-in page, at the email address and at the password', async ({ page }) => {
    const problem = (title: string) => page.getByRole('alert').filter({ hasText: title })
    await show(page, 'password sign-in: e-mail first')
    await page.locator('html[data-ready]').waitFor({ state: 'attached' })
    await page.evaluate(breakSending)
    await page.getByLabel('Email address').fill('ada@example.org')
    await page.getByRole('button', { name: 'Continue' }).click()
    await expect(problem('Sign-in isn’t available right now')).toBeVisible()
    await expect(page.getByLabel('Email address')).toHaveValue('ada@example.org')

    await show(page, 'password sign-in: password')
    await page.evaluate(breakSending)
    await page.getByLabel('Password', { exact: true }).fill('lantern otter meadow')
    await page.getByRole('button', { name: 'Sign in' }).click()
    await expect(problem('We couldn’t sign you in')).toBeVisible()
    await expect(page.getByLabel('Password', { exact: true })).toHaveValue('lantern otter meadow')
  })
})
