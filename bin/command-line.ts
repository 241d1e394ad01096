import { readFile } from 'node:fs/promises'
import { createInterface } from 'node:readline'
import { buffer } from 'node:stream/consumers'
import { Command, CommanderError } from 'commander'
import * as z from 'zod'
import { parseEmailAddress } from '../lib/contract/email-address'
import { lifetimes } from '../lib/contract/lifetimes'
import { setCommandOrigin } from '../lib/event/origin'
import { formatDuration } from '../lib/texts/durations'
import { UsageError } from '../lib/usage-error'

/**
 * Returns a program of commander. `name` is how operators call it, such as
 * `npm run users --`. After a wrong usage, it prints the error and the help to stderr.
 */
export function newProgram(name: string, description: string): Command {
  return new Command(name).description(description).showHelpAfterError().exitOverride()
}

/**
 * Adds the option `--by` to a program whose commands change something. The events of the
 * command have its name and, with `--by`, that of the operator.
 */
export function recordOperator(program: Command): Command {
  program.option('--by <name>', 'who runs the command, for its events', readOperator)

  return program.hook('preAction', (_, action) => {
    const { by = null } = action.optsWithGlobals<{ by?: string }>()
    const names = action === program ? [] : listNames(action, program)
    const command = [readProgramName(program), ...names].join(' ')
    setCommandOrigin({ actor: 'operator', command, operator: by })
  })
}

/** Returns the name in `npm run NAME --`. */
function readProgramName(program: Command): string {
  return program.name().split(' ')[2] ?? program.name()
}

function listNames(action: Command, program: Command): string[] {
  const names: string[] = []
  for (let each: Command | null = action; each && each !== program; each = each.parent)
    names.unshift(each.name())

  return names
}

/** Checks the value of --by. Commander calls it. */
function readOperator(name: string): string {
  const trimmed = name.trim()
  if (/^[^\p{Cc}\p{Cs}]{1,60}$/u.test(trimmed)) return trimmed
  throw new UsageError('--by needs a name of 1 to 60 characters.')
}

/**
 * Returns the time before which nothing is listed: a time ago, such as 7d, or a date or
 * time in ISO 8601, in UTC unless it says otherwise. Throws UsageError for other texts.
 */
export function readSince(text: string): Date {
  if (/^\d+[mhd]$/.test(text))
    return new Date(Date.now() - readSeconds('--since', text) * 1000)

  const isDate =
    /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d{1,3})?)?(Z|[+-]\d{2}:\d{2})?)?$/
  const hasZone = /(Z|[+-]\d{2}:\d{2})$/.test(text) || !text.includes('T')
  const date = new Date(hasZone ? text : `${text}Z`)
  if (isDate.test(text) && !Number.isNaN(date.getTime())) return date

  throw new UsageError(
    `--since “${text}” is neither a time ago, such as 7d, nor a date, such as 2026-12-01.`,
  )
}

/** Collects the values of an option that can be repeated. Commander calls it. */
export function collect(value: string, earlier: string[] = []): string[] {
  return [...earlier, value]
}

const secondsByUnit = { m: 60, h: 3_600, d: 86_400 }

/** Returns the seconds of a time like 30m, 12h or 7d. Throws UsageError for other texts. */
export function readSeconds(option: string, text: string): number {
  const [, amount, unit] = /^(\d{1,4})([mhd])$/.exec(text) ?? []
  if (!amount)
    throw new UsageError(`${option} “${text}” is not a time, such as 30m, 12h or 7d.`)

  return Number(amount) * secondsByUnit[unit as keyof typeof secondsByUnit]
}

/** The option of commands that delete something, for `confirm`. */
export const yesOption = ['--yes', 'asks no question in a terminal'] as const

/**
 * If stdin is a terminal, prints to stderr what a command is about to do, and asks whether
 * to do it, unless the option --yes is given. Throws Error unless the answer is y or yes.
 */
export async function confirm(effect: string, { yes }: { yes?: true }): Promise<void> {
  if (!process.stdin.isTTY) return

  console.error(effect)
  if (yes) return

  process.stderr.write('Continue? [y/N] ')
  const answer = await readLine()
  if (!/^y(es)?$/i.test(answer.trim())) throw new Error('Nothing was changed.')
}

/** Returns the next line of stdin, or '' at its end. */
async function readLine(): Promise<string> {
  for await (const line of createInterface({ input: process.stdin })) return line
  return ''
}

type IssuedSecret = {
  hint: string
  createdAt: Date
  expiresAt: Date | null
  revokedAt: Date | null
}

/** Prints a line with a token or a secret, of which only the hint is known. */
export function printIssuedSecret(name: string, secret: IssuedSecret): void {
  const { hint, createdAt, expiresAt, revokedAt } = secret
  const expires = expiresAt ? `, expires ${expiresAt.toISOString()}` : ''
  const end = revokedAt ? `, revoked ${revokedAt.toISOString()}` : expires
  console.log(`${name} …${hint}: created ${createdAt.toISOString()}${end}`)
}

/**
 * Runs the command in the arguments of this process. Exits with 2 after a wrong usage or a
 * UsageError, 1 after other errors, or 0.
 */
export function runCommand(program: Command): void {
  for (const stream of [process.stdout, process.stderr])
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EPIPE') throw error // EPIPE: the reader, such as `head`, has closed the pipe
    })

  program.parseAsync().then(
    () => exitWhenPrinted(0),
    (error: Error) => {
      // commander has printed its own errors
      if (!(error instanceof CommanderError)) console.error(describeError(error))
      exitWhenPrinted(chooseExitCode(error))
    },
  )
}

/** Returns what to print about an error. The message of a ZodError would be JSON. */
export function describeError(error: Error): string {
  if (!(error instanceof z.ZodError)) return error.message

  return error.issues
    .map(
      ({ path, message }) => `${path.join('.') || 'The value'} is invalid: ${message}.`,
    )
    .join('\n')
}

function chooseExitCode(error: Error): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2 // 0 after --help
  return error instanceof UsageError ? 2 : 1
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
  const lifetime = formatDuration(lifetimes.sessionToken, 'en')
  console.log(
    `Services that check only the signature accept their JWTs for up to ${lifetime}.`,
  )
}

/** Returns the bytes of a file. `-` stands for stdin. */
export async function readInput(file: string): Promise<Buffer> {
  const isStdin = file === '-'
  try {
    return await (isStdin ? buffer(process.stdin) : readFile(file))
  } catch {
    throw new UsageError(`${isStdin ? 'stdin' : file} can’t be read.`)
  }
}
