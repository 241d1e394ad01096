import { readFile } from 'node:fs/promises'
import { buffer } from 'node:stream/consumers'
import { type ParseArgsConfig, parseArgs } from 'node:util'
import { parseEmailAddress } from '../lib/contract/email-address'
import { lifetimes } from '../lib/contract/lifetimes'
import { inUnits } from '../lib/texts/relative-time'
import { UsageError } from '../lib/usage-error'

/** Called with the parameters, followed by an object of the options. */
export type Command = (...parameters: any[]) => unknown

type Program = {
  usage: string
  /** A function, such as `withDatabase`, within which each command runs. */
  within?: (work: () => Promise<void>) => Promise<void>
  /**
   * Functions that replace a parameter by what it names, such as a user. Other parameters
   * are passed as they are.
   */
  find?: Record<string, (text: string) => Promise<unknown>>
  /**
   * The commands, such as `add SLUG [NAME] --text=TEXT --list=OF… --flag`. A parameter in
   * brackets is optional.
   */
  commands: Record<string, Command>
}

/**
 * Runs the command in the arguments of this process. Exits with 2 after a UsageError, 1
 * after other errors, or 0.
 */
export function runCommand(program: Program): void {
  for (const stream of [process.stdout, process.stderr])
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EPIPE') throw error // EPIPE: the reader, such as `head`, has closed the pipe
    })

  run(program).then(
    () => exitWhenPrinted(0),
    (error: Error) => {
      console.error(error.message)
      exitWhenPrinted(error instanceof UsageError ? 2 : 1)
    },
  )
}

async function run({
  usage,
  within = (work) => work(),
  find = {},
  commands,
}: Program): Promise<void> {
  const wrong = (problem: string) => new UsageError(`${problem}\n\n${usage}`)
  const partsOf = (signature: string, kind: RegExp) =>
    signature.split(' ').filter((part) => kind.test(part))
  const wordsOf = (signature: string) => partsOf(signature, /^[a-z]/)
  const signatures = Object.keys(commands)
  const { values, positionals } = readArguments(
    partsOf(signatures.join(' '), /^--/),
    wrong,
  )

  if (values.help) return console.log(usage)

  const signature = signatures.find((each) =>
    wordsOf(each).every((word, at) => word === positionals[at]),
  )

  if (signature === undefined) {
    if (positionals.length === 0) throw new UsageError(usage)

    const hasTwoWords = signatures.some(
      (each) => each.startsWith(`${positionals[0]} `) && wordsOf(each).length > 1,
    )
    throw wrong(
      `There is no command “${positionals.slice(0, hasTwoWords ? 2 : 1).join(' ')}”.`,
    )
  }

  const [words, parameters] = [wordsOf(signature), partsOf(signature, /^[[A-Z]/)]
  const unknown = Object.keys(values).find(
    (name) => !new RegExp(`(^| )--${name}(=| |$)`).test(signature),
  )
  if (unknown) throw wrong(`--${unknown} is not a flag of “${words.join(' ')}”.`)

  const given = positionals.slice(words.length)
  const missing = parameters[given.length]
  if (missing && !missing.startsWith('[')) throw wrong(`${missing} is missing.`)
  if (given.length > parameters.length)
    throw wrong(`“${given[parameters.length]}” is not expected.`)

  await within(async () => {
    const targets = parameters.map((name, at) => find[name]?.(given[at]!) ?? given[at])
    await commands[signature]!(...(await Promise.all(targets)), values)
  })
}

function readArguments(flags: string[], wrong: (problem: string) => UsageError) {
  const options: NonNullable<ParseArgsConfig['options']> = {
    help: { type: 'boolean', short: 'h' },
  }
  for (const [name = '', value = ''] of flags.map((flag) => flag.slice(2).split('=')))
    options[name] = { type: value ? 'string' : 'boolean', multiple: value.endsWith('…') }

  try {
    return parseArgs({ allowPositionals: true, allowNegative: true, options })
  } catch (error) {
    throw wrong(`${(error as Error).message.split('. ')[0]}.`)
  }
}

/**
 * Ends the process after all output is written. `process.exit` alone would lose output
 * that is still buffered.
 */
function exitWhenPrinted(code: number): void {
  process.stdout.write('', () => process.stderr.write('', () => process.exit(code)))
}

/**
 * Throws UsageError unless a text is an email address. Checks only new ones strictly,
 * because imported ones vary.
 */
export function checkAddress(text: string, isNew: boolean): void {
  const isAddress = isNew
    ? parseEmailAddress(text) !== null
    : /^[^\s\p{C}@]+@[^\s\p{C}@]+$/u.test(text)
  if (!isAddress)
    throw new UsageError('That is not an email address, like ada@example.com.')
}

/** Prints the text in `done`, and how many sessions ended. */
export function reportEnded(done: string, ended: number): void {
  console.log(`${done} Sessions ended: ${ended}.`)
  if (ended === 0) return
  const lifetime = inUnits(lifetimes.sessionToken, 'en')
  console.log(
    `Services that check only the signature accept their JWTs for up to ${lifetime}.`,
  )
}

/** Returns the bytes of a file. `-` stands for stdin. */
export async function readInput(file: string): Promise<Buffer> {
  const [name, input] =
    file === '-' ? ['stdin', buffer(process.stdin)] : [file, readFile(file)]
  return input.catch(() => {
    throw new UsageError(`${name} can’t be read.`)
  })
}
