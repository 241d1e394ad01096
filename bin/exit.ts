/**
 * Ends the process when everything is printed. `process.exit` alone loses what a pipe has not taken
 * yet.
 */
export function exitWhenPrinted(code: number): void {
  process.stdout.write('', () => process.stderr.write('', () => process.exit(code)))
}
