import { expect, test } from 'vitest'
import { readUsers } from './import'

const hashOf = (version: string, cost: string) => `$${version}$${cost}$${'x'.repeat(53)}`

test('accepts a header, a byte-order mark, empty lines, and lines with or without a hash or quotes', () => {
  const hash = hashOf('2b', '10')
  const csv = `\uFEFF"Email","password_hash"\r\nAda@Example.com,${hash}\r\n"bob@bücher.example", \n\n eve@example.com ,"${hash}"\n`
  expect(readUsers(csv)).toEqual([
    { email: 'ada@example.com', emailDomain: 'example.com', passwordHash: hash },
    {
      email: 'bob@xn--bcher-kva.example',
      emailDomain: 'xn--bcher-kva.example',
      passwordHash: null,
    },
    { email: 'eve@example.com', emailDomain: 'example.com', passwordHash: hash },
  ])
})

test.each(['2a', '2b', '2y'])('a $%s$ hash of cost 4 to 14 is imported', (version) => {
  for (const cost of ['04', '14']) {
    const hash = hashOf(version, cost)
    expect(readUsers(`ada@example.com,${hash}`)).toMatchObject([{ passwordHash: hash }])
  }
})

const wrong: Record<string, string> = {
  [`ada@example.com,${hashOf('2b', '03')}`]: 'the hash',
  [`ada@example.com,${hashOf('2b', '15')}`]: 'the hash',
  [`ada@example.com,${hashOf('2x', '10')}`]: 'the hash',
  [`ada@example.com,${hashOf('2b', '10')}x`]: 'the hash',
  'ada@example.com,secret': 'the hash',
  'ada@example.com,,admin': 'not of the form email,password_hash',
  '"ada@example.com': 'not of the form email,password_hash',
  ada: 'not an email address',
  'ADA@bücher.example': 'ada@xn--bcher-kva.example appears twice',
}
test.each(Object.entries(wrong))(
  'an error reports %s with the line number and without the hash',
  (line, problem) => {
    const csv = `email\nada@bücher.example\n${line}`
    expect(() => readUsers(csv)).toThrow(`Nothing was imported.\nLine 3: ${problem}`)
    expect(() => readUsers(csv)).not.toThrow(/secret|xxxx/)
  },
)

test('a quote in the wrong place or a line break in a field hides no later line', () => {
  const csv = '"ada@example.com"x\nb"ob@example.com\n"eve\n@example.com"\ncarol\n"dan\n'
  expect(() => readUsers(csv)).toThrow(
    /Line 1: not of .*\nLine 2: not of .*\nLine 3: not an email .*\nLine 5: not an email .*\nLine 6: not of .*$/,
  )
})

test('at most 20 problems are listed', () => {
  expect(() => readUsers('x\n'.repeat(30))).toThrow(/Line 20: .*\n… and 10 more\.$/)
})
