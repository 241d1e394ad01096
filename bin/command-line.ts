import { readFile } from 'node:fs/promises'
import { buffer } from 'node:stream/consumers'
import { type ParseArgsConfig, parseArgs } from 'node:util'
import { parseEmailAddress } from '../lib/contract/email-address'
import { lifetimes } from '../lib/contract/lifetimes'
import { inUnits } from '../lib/page/relative-time'
import { UsageError } from '../lib/usage-error'

type Options = NonNullable<ParseArgsConfig['options']>
/** The values of a program's options. */
export type FlagsOf<Given extends Options> = ReturnType<typeof parseArgs<{ options: Given }>>['values']

export type Command = {
  /** The names of the command's parameters. A last one in brackets is optional. */
  parameters?: string[]
  /** The names of the options that the command takes. */
  flags?: string[]
  /** Called with the values of the options, a `FlagsOf`. */
  run: (flags: any, ...parameters: string[]) => unknown
}

type Program = {
  usage: string
  options?: Options
  /** A function that runs each command, such as `withDatabase`. */
  within?: (work: () => Promise<void>) => Promise<void>
  /** The commands by name, such as `add oidc`. A program without subcommands has one with an empty name. */
  commands: Record<string, Command>
}

/** Runs the command in the arguments of this process, and exits: with 1 if it throws, 2 for a UsageError, else 0. */
export function runCommand(program: Program): void {
  for (const stream of [process.stdout, process.stderr])
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EPIPE') throw error // the reader, such as `head`, has closed the pipe
    })
  run(program).then(
    () => exitWhenPrinted(0),
    (error: Error) => {
      console.error(error.message)
      exitWhenPrinted(error instanceof UsageError ? 2 : 1)
    },
  )
}

async function run({ usage, options = {}, within = (work) => work(), commands }: Program): Promise<void> {
  const wrong = (problem: string) => new UsageError(`${problem}\n\n${usage}`)
  const { values, positionals } = readArguments(options, wrong)
  if (values.help) return console.log(usage)
  const wordsOf = (name: string) => name.match(/\S+/g) ?? []
  const name = Object.keys(commands).find((each) => wordsOf(each).every((word, index) => word === positionals[index]))
  if (name === undefined) {
    if (positionals.length === 0) throw new UsageError(usage)
    const hasTwoWords = Object.keys(commands).some((each) => each.startsWith(`${positionals[0]} `))
    throw wrong(`There is no command “${positionals.slice(0, hasTwoWords ? 2 : 1).join(' ')}”.`)
  }
  const { parameters = [], flags = [], run } = commands[name]!
  const unknown = Object.keys(values).find((flag) => !flags.includes(flag))
  if (unknown) throw wrong(`--${unknown} is not a flag of “${name}”.`)
  const given = positionals.slice(wordsOf(name).length)
  const missing = parameters[given.length]
  if (missing && !missing.startsWith('[')) throw wrong(`${missing} is missing.`)
  if (given.length > parameters.length) throw wrong(`“${given[parameters.length]}” is not expected.`)
  await within(async () => void (await run(values, ...given)))
}

function readArguments(given: Options, wrong: (problem: string) => UsageError) {
  try {
    const options: Options = { ...given, help: { type: 'boolean', short: 'h' } }
    return parseArgs({ allowPositionals: true, allowNegative: true, options })
  } catch (error) {
    throw wrong(`${(error as Error).message.split('. ')[0]}.`)
  }
}

/** Ends the process when everything is printed: `process.exit` alone loses what a pipe has not taken yet. */
function exitWhenPrinted(code: number): void {
  process.stdout.write('', () => process.stderr.write('', () => process.exit(code)))
}

/** Throws UsageError unless a text is an email address. Less strict than for new users, because imported ones vary. */
export function checkAddress(text: string, isNew: boolean): void {
  const isAddress = isNew ? parseEmailAddress(text) !== null : /^[^\s\p{C}@]+@[^\s\p{C}@]+$/u.test(text)
  if (!isAddress) throw new UsageError('That is not an email address, like ada@example.com.')
}

/** Prints what was done, and how many sessions ended. */
export function reportEnded(done: string, ended: number): void {
  console.log(`${done} Sessions ended: ${ended}.`)
  if (ended === 0) return
  const lifetime = inUnits(lifetimes.sessionToken, 'en')
  console.log(`Services that check only the signature accept their JWTs for up to ${lifetime}.`)
}

/** Returns the bytes of a file, or of stdin for -. */
export async function readInput(file: string): Promise<Buffer> {
  const [name, input] = file === '-' ? ['stdin', buffer(process.stdin)] : [file, readFile(file)]
  return input.catch(() => {
    throw new UsageError(`${name} can’t be read.`)
  })
}
