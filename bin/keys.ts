// `npm run keys`: prints new values of the settings with signing keys, the next values in
// a rotation, or the public keys. Changes nothing.
import type { Command } from 'commander'
import { lifetimes } from '../lib/contract/lifetimes'
import { explainInvalid } from '../lib/settings/env-file'
import {
  type Algorithm,
  formatPem,
  isNext,
  type JwtKeys,
  newSigningKeys,
  parseIdTokenKeys,
  parseSigningKeys,
  rotateSigningKeys,
} from '../lib/settings/signing-keys'
import { formatDuration } from '../lib/texts/durations'
import { UsageError } from '../lib/usage-error'
import { newProgram, runCommand } from './command-line'
import { readEnvFiles } from './dev/local'

type Setting = {
  name: string
  algorithm: Algorithm
  option: string
  /** How long signed tokens are valid. */
  wait: string
  /** Why to wait that long before the old key is removed. */
  living: string
  /** What happens otherwise. */
  otherwise: string
}

const settings = {
  session: {
    name: 'SESSION_SIGNING_KEYS',
    algorithm: 'ES256',
    option: '--session',
    wait: formatDuration(lifetimes.session, 'en'),
    living: 'sessions live that long',
    otherwise: 'users are signed out',
  },
  widget: {
    name: 'WIDGET_SIGNING_KEYS',
    algorithm: 'ES256',
    option: '--widget',
    wait: formatDuration(lifetimes.widgetToken, 'en'),
    living: 'their JWTs live that long',
    otherwise: 'widgets fail for a while',
  },
  idToken: {
    name: 'ID_TOKEN_SIGNING_KEYS',
    algorithm: 'RS256',
    option: '--id-token',
    wait: formatDuration(lifetimes.session, 'en'),
    living: 'clients send ID tokens back that long, as hints',
    otherwise: 'hints of earlier sign-ins are ignored',
  },
} satisfies Record<string, Setting>

/** The options of commander. At most one of them is given. */
type Options = Partial<Record<keyof typeof settings, true>>

/** Returns the setting that an option names, or null. */
function findSetting(options: Options): Setting | null {
  const [chosen, other] = Object.keys(options) as (keyof typeof settings)[]
  if (!chosen) return null

  if (other)
    throw new UsageError(
      `Give only one of ${settings[chosen].option} and ${settings[other].option}.`,
    )

  return settings[chosen]
}

/** Prints one set alone, or lines of an env file with the sets of a new service. */
function printNew(options: Options): void {
  const setting = findSetting(options)
  if (setting) {
    console.log(newSigningKeys(setting.algorithm))
    return
  }

  for (const { name, algorithm } of [settings.session, settings.idToken])
    console.log(`${name}=${newSigningKeys(algorithm)}`)
}

function rotate(inUse: string, setting: Setting): void {
  const { name, algorithm, wait, living, otherwise } = setting
  const { step, json } = rotateSigningKeys(inUse, algorithm)

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

function readPublished(json: string, { algorithm }: Setting): JwtKeys['published'] {
  return (algorithm === 'RS256' ? parseIdTokenKeys(json) : parseSigningKeys(json))
    .published
}

function list(json: string, setting: Setting): void {
  const published = readPublished(json, setting)
  const { keys } = JSON.parse(json) as { keys: Parameters<typeof isNext>[0][] }
  for (const [index, { kid }] of published.entries()) {
    const role = isNext(keys[index]!)
      ? 'published, signs next'
      : 'published, signed previously'
    console.log(`${kid}  ${index === 0 ? 'signs' : role}`)
  }
}

/** Prints only public keys, although the setting has private ones. */
function printPem(json: string, setting: Setting): void {
  process.stdout.write(formatPem(readPublished(json, setting)))
}

/** Returns a function that runs `work` with the keys of a setting, by default of sessions. */
function withKeys(work: (json: string, setting: Setting) => void) {
  return (options: Options): void => {
    const setting = findSetting(options) ?? settings.session
    const { name, option } = setting

    readEnvFiles(process.env.NODE_ENV === 'production')
    const json = process.env[name]
    const advice = `Create it with \`npm run keys -- new ${option}\`. (\`npm run dev\` uses its own, in .data/.)`
    if (!json) throw new UsageError(`${name} is not set. ${advice}`)

    try {
      work(json, setting)
    } catch (error) {
      const problem = `${(error as Error).message}${explainInvalid(json)}`
      throw new Error(`${name} ${problem}.`, { cause: error })
    }
  }
}

/** Adds an option for each setting. */
function addOptions(command: Command): Command {
  for (const { option, name } of Object.values(settings))
    command.option(option, `the keys of ${name}`)

  return command
}

const program = newProgram(
  'npm run keys --',
  'Prints keys for SESSION_SIGNING_KEYS, WIDGET_SIGNING_KEYS and ID_TOKEN_SIGNING_KEYS. Changes nothing.',
)

addOptions(
  program
    .command('new')
    .description(
      'prints lines of an env file with new SESSION_SIGNING_KEYS and ID_TOKEN_SIGNING_KEYS. With an option, prints only the value of one setting',
    ),
).action(printNew)

addOptions(
  program
    .command('list')
    .description(
      'lists the keys in a setting: which one signs, which are only published',
    ),
).action(withKeys(list))

addOptions(
  program
    .command('pem')
    .description(
      'prints the public keys in a setting as PEM, each below its kid, for gateways that read keys from files. Prints no private key',
    ),
).action(withKeys(printPem))

addOptions(
  program
    .command('rotate')
    .description(
      'prints the next value of a setting. A rotation has three steps: publish a new key, sign with it, remove the old key. Set the printed value before the next step.',
    ),
).action(withKeys(rotate))

runCommand(program)
