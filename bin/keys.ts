// `npm run keys`: prints the next value of SESSION_SIGNING_KEYS or WIDGET_SIGNING_KEYS.
// Changes nothing.
import { lifetimes } from '../lib/contract/lifetimes'
import { explainInvalid } from '../lib/settings/env-file'
import {
  isNext,
  newSigningKeys,
  parseSigningKeys,
  rotateSigningKeys,
} from '../lib/settings/signing-keys'
import { divideTime } from '../lib/texts/relative-time'
import { UsageError } from '../lib/usage-error'
import { newProgram, runCommand } from './command-line'
import { readEnvFiles } from './dev/local'

/**
 * For each setting: how long signed tokens are valid, why, and what happens if the old
 * key is removed too early.
 */
const settings = {
  SESSION_SIGNING_KEYS: [
    divideTime(lifetimes.session, 'en'),
    'sessions live that long',
    'users are signed out',
  ],
  WIDGET_SIGNING_KEYS: [
    divideTime(lifetimes.widgetToken, 'en'),
    'their JWTs live that long',
    'widgets fail for a while',
  ],
}
type Setting = keyof typeof settings

function rotate(inUse: string, name: Setting): void {
  const { step, json } = rotateSigningKeys(inUse)
  const [wait, living, otherwise] = settings[name]

  const instructions = {
    publish: `Step 1 of 3: a new key is published; the old key still signs.
Set this value as ${name} and deploy. When no process uses the previous value any more, wait 10 minutes:
the JWKS is cached for 5 minutes, and some libraries keep it for 10. Then run this command again.`,
    sign: `Step 2 of 3: the new key signs; the old key still verifies.
Continue only if step 1 was deployed everywhere at least 10 minutes ago. Set this value as ${name} and
deploy. When no process uses the previous value any more, wait ${wait}: ${living}.
Then run this command again.`,
    drop: `Step 3 of 3: the old key is removed.
Continue only if step 2 was deployed everywhere at least ${wait} ago; otherwise ${otherwise}.
Set this value as ${name} and deploy. The rotation is then complete.`,
  }

  console.error(instructions[step])
  console.log(json)
}

function list(json: string): void {
  const { published } = parseSigningKeys(json)
  const { keys } = JSON.parse(json) as { keys: Parameters<typeof isNext>[0][] }
  for (const [index, { kid }] of published.entries()) {
    const role = isNext(keys[index]!)
      ? 'published, signs next'
      : 'published, signed previously'
    console.log(`${kid}  ${index === 0 ? 'signs' : role}`)
  }
}

/** Returns a function that runs `work` with the keys of a setting, and its name. */
function withKeys(work: (json: string, name: Setting) => void) {
  return ({ widget }: { widget?: true }): void => {
    const name = widget ? 'WIDGET_SIGNING_KEYS' : 'SESSION_SIGNING_KEYS'
    readEnvFiles(process.env.NODE_ENV === 'production')
    const json = process.env[name]
    const advice =
      'Create it with `npm run keys -- new`. (`npm run dev` uses its own, in .data/.)'
    if (!json) throw new UsageError(`${name} is not set. ${advice}`)

    try {
      work(json, name)
    } catch (error) {
      const problem = `${(error as Error).message}${explainInvalid(json)}`
      throw new Error(`${name} ${problem}.`, { cause: error })
    }
  }
}

const widgetOption = ['--widget', 'the keys of WIDGET_SIGNING_KEYS'] as const
const program = newProgram(
  'npm run keys --',
  'Prints keys for SESSION_SIGNING_KEYS and WIDGET_SIGNING_KEYS. Changes nothing.',
)

program
  .command('new')
  .description(
    'prints a first value for SESSION_SIGNING_KEYS, or for WIDGET_SIGNING_KEYS',
  )
  .action(() => console.log(newSigningKeys()))

program
  .command('list')
  .description(
    'lists the keys in SESSION_SIGNING_KEYS: which one signs, which are only published',
  )
  .option(...widgetOption)
  .action(withKeys(list))

program
  .command('rotate')
  .description(
    'prints the next value of SESSION_SIGNING_KEYS. A rotation has three steps: publish a new key, sign with it, remove the old key. Set the printed value before the next step.',
  )
  .option(...widgetOption)
  .action(withKeys(rotate))

runCommand(program)
