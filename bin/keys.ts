// `npm run keys -- new|rotate|list`: the keys of the session JWTs. Changes nothing: what it prints on stdout is the next value of SESSION_SIGNING_KEYS.
import { newSigningKeys, parseSigningKeys, type RotationStep, rotateSigningKeys } from '../lib/settings/signing-keys'
import { readEnvFiles } from './local'

const usage = `npm run keys -- new      a first SESSION_SIGNING_KEYS
npm run keys -- list     which key signs, and which are published, of SESSION_SIGNING_KEYS
npm run keys -- rotate   the next SESSION_SIGNING_KEYS. Run it three times, with the last value set each time:
                         it publishes a new key, lets it sign, and drops the old one`

const nextSteps: Record<RotationStep, string> = {
  publish: `Step 1 of 3: a new key is published, the old one signs.
Set this as SESSION_SIGNING_KEYS, and deploy. When no process runs with the earlier value any more, wait 10 minutes, because
the JWKS is cached for 5 and a library may keep it for 10. Then run this command again.`,
  sign: `Step 2 of 3: the new key signs, the old one stays published, without its private part.
Only go on where step 1 has been everywhere for 10 minutes. Set this as SESSION_SIGNING_KEYS, and deploy. When no process runs
with the earlier value any more, wait 12 hours and 10 minutes, because so long a session of the old key lives. Then run this command again.`,
  drop: `Step 3 of 3: the old key is forgotten.
Only go on where step 2 has been everywhere for 12 hours and 10 minutes: earlier, people would be signed out.
Set this as SESSION_SIGNING_KEYS, and deploy. That is all.`,
}

class Usage extends Error {}

function run([command, ...rest]: string[]): void {
  if (!command || rest.length > 0 || !['new', 'list', 'rotate'].includes(command)) throw new Usage(usage)
  if (command === 'new') console.log(newSigningKeys())
  else if (command === 'list') list(keysInUse())
  else rotate(keysInUse())
}

function keysInUse(): string {
  readEnvFiles(process.env.NODE_ENV === 'production')
  const json = process.env.SESSION_SIGNING_KEYS
  if (!json)
    throw new Usage(
      'SESSION_SIGNING_KEYS is not set. `npm run keys -- new` makes a first value; a laptop makes its own in .data/.',
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
  const { keys } = JSON.parse(json) as { keys: { d?: string }[] }
  const roles = keys.map(({ d }, index) =>
    index === 0 ? 'signs' : d ? 'published, to sign next' : 'published, signed before',
  )
  for (const [index, { kid }] of published.entries()) console.log(`${kid}  ${roles[index]}`)
}

try {
  run(process.argv.slice(2))
} catch (error) {
  const message = (error as Error).message
  console.error(error instanceof Usage ? message : `SESSION_SIGNING_KEYS is ${message}`)
  process.exit(error instanceof Usage ? 2 : 1)
}
