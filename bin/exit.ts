/**
 * Ends the process when everything is printed. `process.exit` alone loses what a pipe has not taken
 * yet.
 */
export function exitWhenPrinted(code: number): void {
  process.stdout.write('', () => process.stderr.write('', () => process.exit(code)))
}

/**
 * For a command that takes no arguments: returns whether it got some, after printing its usage and
 * setting the exit code.
 */
export function hasArguments(usage: string): boolean {
  const [given] = process.argv.slice(2)
  if (given === undefined) return false
  const isHelp = given === '--help' || given === '-h'
  if (isHelp) console.log(usage)
  else console.error(usage)
  process.exitCode = isHelp ? 0 : 2
  return true
}
