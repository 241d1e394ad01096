import { expect, test, vi } from 'vitest'
import { lifetimes } from '../contract/lifetimes'
import { formatDuration } from './durations'
import { languages } from './language'
import { textsIn } from './texts'

const tags = Object.keys(languages)

test.each(tags)('%s names the lifetimes that hold', (tag) => {
  const { sso, mail } = textsIn(tag)
  const named = {
    code: sso.used.body,
    signIn: sso.rejected.attempt_invalid.body,
    resetToken: mail.reset.expiry,
    invitation: mail.invitation.password.expiry,
  }

  for (const [name, text] of Object.entries(named)) {
    const written = formatDuration(lifetimes[name as keyof typeof named], tag)
    // a language can write “1” as a word, and versions of Node.js differ in kinds of spaces
    const expected = written.replace(/\s/g, ' ').replace(/^1 /, '')
    expect(text.replace(/\s/g, ' ')).toContain(expected)
  }
})

test.each(tags)('%s needs no formatter for them, and one for others', async (tag) => {
  vi.resetModules()
  const format = vi.spyOn(Intl, 'NumberFormat')
  await import(`./${tag}.ts`)
  expect(format).not.toHaveBeenCalled()
  format.mockRestore()

  vi.resetModules()
  vi.doMock('../contract/lifetimes', async (original) => {
    const actual = await original<typeof import('../contract/lifetimes')>()
    return { ...actual, lifetimes: { ...actual.lifetimes, signIn: 30 * 60 } }
  })
  const { [tag]: makeTexts } = await import(`./${tag}.ts`)
  vi.doUnmock('../contract/lifetimes')

  const { body } = makeTexts('Dashboard', 8).sso.rejected.attempt_invalid
  expect(body).toContain(formatDuration(30 * 60, tag))
})
