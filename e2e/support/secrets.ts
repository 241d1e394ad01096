import { randomInt, randomUUID } from 'node:crypto'
import { appendFileSync, mkdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

export const secretsFolder = fileURLToPath(
  new URL('../results/secrets/', import.meta.url),
)

// Each process has its own file, because lines that several processes append to one file
// can overlap.
const secretsFile = secretsFolder + randomUUID()

/**
 * Records a secret and returns it. After the run, every log is searched for it. Throws if
 * the secret is so short that a log could contain it by chance. Does not record the empty
 * value of a deleted cookie.
 */
export function keepSecret(secret: string): string {
  if (secret === '') return secret
  if (!/^.{8,}$/.test(secret)) throw new Error(`'${secret}' is too short for a secret`)
  mkdirSync(secretsFolder, { recursive: true })
  appendFileSync(secretsFile, `${secret}\n`)
  return secret
}

const firstBlock = randomInt(65_536)
let addresses = 0

/**
 * Returns an IP address in a /24 that no other test uses, so that tests do not share rate
 * limits.
 */
export function newAddress(): string {
  const block = (firstBlock + addresses++) % 65_536
  return `10.${block >> 8}.${block % 256}.${randomInt(256)}`
}
