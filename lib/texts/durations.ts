import { lifetimes } from '../contract/lifetimes'
import { numberingSystem, units } from './relative-time'

/**
 * Returns the lifetimes of codes, sign-ins, reset tokens and invitations. `words`: how the
 * language writes these numbers of seconds. Any other needs a formatter, and the first
 * formatter of numbers in a process takes 10 ms.
 */
export function writeLifetimes(language: string, words: Record<number, string>) {
  const write = (seconds: number) => words[seconds] ?? formatDuration(seconds, language)

  return {
    code: write(lifetimes.code),
    signIn: write(lifetimes.signIn),
    token: write(lifetimes.resetToken),
    invitation: write(lifetimes.invitation),
  }
}

/** Formats a duration, such as “1 minute” or “7 days”. */
export function formatDuration(seconds: number, language: string): string {
  const [unit, size] = Object.entries(units).find(([, size]) => seconds % size === 0)!
  return new Intl.NumberFormat(language, {
    numberingSystem,
    style: 'unit',
    unit,
    unitDisplay: 'long',
  }).format(seconds / size)
}
