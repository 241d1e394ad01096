import { expect, test } from 'vitest'
import { findSteps, type Steps } from './find'

const users = {
  nothing: { enabledAt: null, encryptedSecret: null, hasPasskey: false },
  'a passkey from before': { enabledAt: null, encryptedSecret: null, hasPasskey: true },
  'an app': { enabledAt: 1, encryptedSecret: 'x', hasPasskey: false },
  'an app and a passkey': { enabledAt: 1, encryptedSecret: 'x', hasPasskey: true },
  'a passkey with codes': { enabledAt: 1, encryptedSecret: null, hasPasskey: true },
}

const app: Steps = { methods: ['totp', 'recovery-code'] }
const both: Steps = { methods: ['totp', 'passkey', 'recovery-code'] }
const passkey: Steps = { methods: ['passkey', 'recovery-code'] }
const codes: Steps = { methods: ['recovery-code'] }
const setUpAny: Steps = { methods: [], setUp: ['passkey', 'totp'] }
const setUpApp: Steps = { methods: [], setUp: ['totp'] }

/** What follows the password, by SECOND_FACTOR and PASSKEYS. */
const cases: [
  factor: boolean | 'required',
  passkeys: boolean,
  Record<keyof typeof users, Steps | null>,
][] = [
  ...([false, true] as const).map((factor): (typeof cases)[number] => [
    factor,
    true,
    {
      nothing: null,
      'a passkey from before': null,
      'an app': app,
      'an app and a passkey': both,
      'a passkey with codes': passkey,
    },
  ]),
  ...([false, true] as const).map((factor): (typeof cases)[number] => [
    factor,
    false,
    {
      nothing: null,
      'a passkey from before': null,
      'an app': app,
      'an app and a passkey': app,
      'a passkey with codes': codes,
    },
  ]),
  [
    'required',
    true,
    {
      nothing: setUpAny,
      'a passkey from before': { methods: ['passkey'] },
      'an app': app,
      'an app and a passkey': both,
      'a passkey with codes': passkey,
    },
  ],
  [
    'required',
    false,
    {
      nothing: setUpApp,
      'a passkey from before': setUpApp,
      'an app': app,
      'an app and a passkey': app,
      'a passkey with codes': codes,
    },
  ],
]

for (const [SECOND_FACTOR, PASSKEYS, expected] of cases)
  for (const [name, user] of Object.entries(users))
    test(`SECOND_FACTOR=${SECOND_FACTOR}, PASSKEYS=${PASSKEYS}: what follows the password of a user with ${name}`, () => {
      // `findFactor` reads no passkeys without the setting
      const read = { ...user, hasPasskey: user.hasPasskey && PASSKEYS }
      const steps = findSteps(read, { SECOND_FACTOR, PASSKEYS })
      expect(steps).toEqual(expected[name as keyof typeof users])
    })
