import fc from 'fast-check'
import { expect, test } from 'vitest'
import { readForm } from './body'

async function formOf(body: Uint8Array | string) {
  const headers = { 'Content-Type': 'application/x-www-form-urlencoded; charset=utf-8' }
  return readForm(new Request('http://localhost', { method: 'POST', headers, body: body as BodyInit }))
}

test('the fields of a form are those of URLSearchParams, except for one without an equals sign', async () => {
  const escapes = ['%', '%2', '%2B', '%2b', '%26', '%zz', '%c3%bc', '%c3', '%ff', '%efbb', '%bf', '%00']
  const piece = fc.constantFrom('&', '=', '+', 'a', 'ab', 'a=', '&a=', '&ab=', '~', ' ', ...escapes)
  const body = fc.array(piece, { maxLength: 12 }).map((pieces) => pieces.join(''))
  await fc.assert(
    fc.asyncProperty(body, async (text) => {
      const form = await formOf(text)
      const fields = text.split('&').filter((field) => field.includes('='))
      const expected = new URLSearchParams(fields.join('&'))
      for (const name of ['a', 'ab']) expect(form.get(name)).toBe(expected.get(name))
    }),
    { numRuns: 200 },
  )
})

test('bytes beyond ASCII are UTF-8, or replaced', async () => {
  expect((await formOf('a=ü%C3%BC')).get('a')).toBe('üü')
  expect((await formOf(Buffer.from([0x61, 0x3d, 0xff, 0x26]))).get('a')).toBe('\ufffd')
})
