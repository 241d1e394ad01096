import { readFileSync } from 'node:fs'
import { project } from '../bin/local'

/** The blocks of the README that have a name behind their language, as they stand there. */
export const readmeBlocks: Record<string, { language: string; text: string }> = Object.fromEntries(
  [...readFileSync(`${project}README.md`, 'utf8').matchAll(/^```(ts|sql) ([\w-]+)\n(.*?)^```$/gms)].map(([, language, name, text]) => [
    name!,
    { language: language!, text: text! },
  ]),
)
