import { spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { env } from '../settings/env'
import {
  hashRecoveryCode,
  newRecoveryCodes,
  newTotpSecret,
  stepsOfCode,
  totpUri,
} from './codes'
import { decrypt, encrypt } from './encryption'

const [key, nextKey] = [new Uint8Array(randomBytes(32)), new Uint8Array(randomBytes(32))]
beforeAll(() => {
  env().ENCRYPTION_KEY = [key]
})
afterAll(() => {
  delete env().ENCRYPTION_KEY
})

const rfcSecret = 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ' // 12345678901234567890

test.each([
  [59, '287082'],
  [1111111109, '081804'],
  [1111111111, '050471'],
  [1234567890, '005924'],
  [2000000000, '279037'],
  [20000000000, '353130'],
])(
  'at %i s, the code is %s as in RFC 6238, appendix B, and is valid for three steps',
  async (time, code) => {
    const at = async (seconds: number) => stepsOfCode(rfcSecret, code, time + seconds)
    for (const seconds of [-30, 0, 30])
      expect(await at(seconds)).toEqual([Math.floor(time / 30)])
    for (const seconds of [-60, 60]) expect(await at(seconds)).toEqual([])
  },
)

test('a code may contain only digits of any script, spaces, punctuation and what is invisible', async () => {
  for (const typed of [
    '287 082',
    ' 287-082\n',
    '287.082',
    '٢٨٧٠٨٢',
    '۲۸۷۰۸۲',
    '２８７０８２',
    '28708२',
    '28 70\u200B82',
    '287\u2010082',
    '2 8 7 0 8 2',
  ])
    expect(await stepsOfCode(rfcSecret, typed, 59), typed).toEqual([1])
  for (const typed of [
    '',
    '28708',
    '2870820',
    '94287082',
    '287082x',
    '28708²',
    '28708b',
    '-',
    '287083',
  ])
    expect(await stepsOfCode(rfcSecret, typed, 59), typed).toEqual([])
})

test('oathtool generates the same codes for a new secret', async () => {
  const secret = await newTotpSecret()
  expect(secret).toMatch(/^[A-Z2-7]{32}$/)
  for (const time of [0, 59, 1_800_000_000, 1_800_000_030]) {
    const { stdout } = spawnSync('oathtool', ['--totp', '-b', '-N', `@${time}`, secret], {
      encoding: 'utf8',
    })
    if (stdout === null) return // oathtool is not installed
    expect(await stepsOfCode(secret, stdout.trim(), time)).toContain(
      Math.floor(time / 30),
    )
  }
})

test('the URI encodes the email address, and its label contains only one colon', async () => {
  const { APP_NAME } = env()
  env().APP_NAME = 'A: B & C'
  const uri = await totpUri(rfcSecret, 'ada+1@example.com')
  env().APP_NAME = APP_NAME
  expect(uri.split('?')[0]).toBe('otpauth://totp/A%20B%20%26%20C:ada%2B1%40example.com')
  const query = {
    issuer: 'A B & C',
    secret: rfcSecret,
    algorithm: 'SHA1',
    digits: '6',
    period: '30',
  }
  expect(Object.fromEntries(new URL(uri).searchParams)).toEqual(query)
  expect(uri).not.toContain('+')
})

test('ten recovery codes are different, and spelling variants have the same hash', () => {
  const codes = newRecoveryCodes()
  expect(new Set(codes).size).toBe(10)
  for (const code of codes)
    expect(code).toMatch(/^([0-9A-HJKMNP-TV-Z]{6}-){3}[0-9A-HJKMNP-TV-Z]{6}$/)
  const stored = hashRecoveryCode('7K3M9Q-XAT2VD-HB1RW8-0FJCNE')
  for (const typed of [
    '7k3m9q xat2vd hbirw8 ofjcne',
    '7K3M9QXAT2VDHBLRW8OFJCNE',
    ' 7K3M9Q-XAT2VD-HB1RW8-0FJCNE\n',
    '7K3M9Q\u2010XAT2VD\u2013HB1RW8\u2014OFJCNE', // dashes of a word processor
    '7K3M9Q\u2212XAT2VD\u30FCHB1RW8\u00AD0FJCNE', // a minus sign, a long vowel mark
    '\uFEFF7K3M9Q\u200B-XAT2VD-\u2060HB1RW8-0FJCNE\u200E',
    '７Ｋ３Ｍ９Ｑ－ｘａｔ２ｖｄ－ＨＢＩＲＷ８－ｏＦＪＣＮＥ',
    '٧K٣M٩Q.XAT٢VD.HBıRW٨.٠FJCNE', // Arabic digits, a Turkish i
    '7K3M9Q XAT2VD HBİRW8 0FJCNE',
    '“7K3M9Q-XAT2VD-HB1RW8-0FJCNE”,',
  ])
    expect(hashRecoveryCode(typed)).toEqual(stored)
  for (const wrong of ['7K3M9Q-XAT2VD-HB1RW8-0FJCNF', '7K3M9Q-XAT2VD-HB1RW8-0FJCNEЖ'])
    expect(hashRecoveryCode(wrong)).not.toEqual(stored)
})

test('every key decrypts only for the purpose of the encryption, and a changed ciphertext is rejected', async () => {
  const encrypted = await encrypt('the secret', 'totp 1')
  expect(encrypted).not.toBe(await encrypt('the secret', 'totp 1'))
  for (const purpose of ['totp 2', 'enrolment 1', ''])
    expect(await decrypt(encrypted, purpose)).toBeNull()
  const changed = Array.from(encrypted, (was, at) =>
    [encrypted.slice(0, at), encrypted.slice(at + 1)].join(was === 'A' ? 'Q' : 'A'),
  )
  for (const other of [
    '',
    'x',
    encrypted.slice(0, 20),
    encrypted.slice(0, -4),
    ...changed,
  ])
    expect(await decrypt(other, 'totp 1'), other).toBeNull()
  env().ENCRYPTION_KEY = [nextKey, key]
  expect(await decrypt(encrypted, 'totp 1')).toBe('the secret')
  const renewed = await encrypt('the secret', 'totp 1')
  env().ENCRYPTION_KEY = [nextKey]
  expect([await decrypt(encrypted, 'totp 1'), await decrypt(renewed, 'totp 1')]).toEqual([
    null,
    'the secret',
  ])
})
