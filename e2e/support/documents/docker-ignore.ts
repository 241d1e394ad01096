import { readFileSync } from 'node:fs'
import { project } from '../../../bin/dev/local'

const patterns = readFileSync(`${project}deploy/Dockerfile.dockerignore`, 'utf8')
  .trim()
  .split('\n')

/**
 * Returns whether the build of the image ignores a file. Like Docker, a pattern also
 * matches everything in a folder, and the last pattern that matches decides.
 */
export function isIgnoredByImage(file: string): boolean {
  const last = patterns.findLast((pattern) =>
    toExpression(pattern.replace('!', '')).test(file),
  )
  return last !== undefined && !last.startsWith('!')
}

function toExpression(pattern: string): RegExp {
  const source = pattern
    .replaceAll('.', '\\.')
    .replace(/^\*\*\//, '(.+/)?')
    .replaceAll('*', '[^/]*')
  return new RegExp(`^${source}(/|$)`)
}
