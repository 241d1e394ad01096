// `npm run keys -- new|rotate|list`: manages the keys that sign session JWTs. Changes nothing: it
// prints the next value of SESSION_SIGNING_KEYS to stdout.

import { lifetimes } from '../lib/contract/lifetimes'
import { inUnits } from '../lib/page/relative-time'
import {
  isNext,
  newSigningKeys,
  parseSigningKeys,
  type RotationStep,
  rotateSigningKeys,
} from '../lib/settings/signing-keys'
import { UsageError } from '../lib/sso/usage-error'
import { runCommand } from './command-line'
import { readEnvFiles } from './local'

const usage = `npm run keys -- new      prints a first value for SESSION_SIGNING_KEYS
npm run keys -- list     lists the keys in SESSION_SIGNING_KEYS: which one signs, which are only published
npm run keys -- rotate   prints the next value of SESSION_SIGNING_KEYS. A rotation has three steps: publish a
                         new key, sign with it, remove the old key. Set the printed value before the next step.`

const wait = inUnits(lifetimes.session, 'en')

const nextSteps: Record<RotationStep, string> = {
  publish: `Step 1 of 3: a new key is published; the old key still signs.
Set this value as SESSION_SIGNING_KEYS and deploy. When no process uses the previous value any more, wait 10 minutes:
the JWKS is cached for 5 minutes, and some libraries keep it for 10. Then run this command again.`,
  sign: `Step 2 of 3: the new key signs; the old key still verifies sessions and refresh tokens.
Continue only if step 1 was deployed everywhere at least 10 minutes ago. Set this value as SESSION_SIGNING_KEYS and
deploy. When no process uses the previous value any more, wait ${wait}: sessions and their refresh tokens live that
long. Then run this command again.`,
  drop: `Step 3 of 3: the old key is removed.
Continue only if step 2 was deployed everywhere at least ${wait} ago; otherwise users are signed out.
Set this value as SESSION_SIGNING_KEYS and deploy. The rotation is then complete.`,
}

function keysInUse(): string {
  readEnvFiles(process.env.NODE_ENV === 'production')
  const json = process.env.SESSION_SIGNING_KEYS
  if (!json)
    throw new UsageError(
      'SESSION_SIGNING_KEYS is not set. Create it with `npm run keys -- new`. (`npm run dev` uses its own, in .data/.)',
    )
  return json
}

function rotate(inUse: string): void {
  const { step, json } = rotateSigningKeys(inUse)
  console.error(nextSteps[step])
  console.log(json)
}

function list(json: string): void {
  const { published } = parseSigningKeys(json)
  const { keys } = JSON.parse(json) as { keys: Parameters<typeof isNext>[0][] }
  const roles = keys.map((key, index) =>
    index === 0 ? 'signs' : isNext(key) ? 'published, signs next' : 'published, signed previously',
  )
  for (const [index, { kid }] of published.entries()) console.log(`${kid}  ${roles[index]}`)
}

function withKeys(work: (json: string) => void): void {
  const json = keysInUse()
  try {
    work(json)
  } catch (error) {
    throw new Error(`SESSION_SIGNING_KEYS is ${(error as Error).message}`, { cause: error })
  }
}

runCommand({
  usage,
  options: {},
  commands: {
    new: { run: () => console.log(newSigningKeys()) },
    list: { run: () => withKeys(list) },
    rotate: { run: () => withKeys(rotate) },
  },
})
