// Loaded into every server under test by default. Hashes new passwords at bcrypt's lowest
// cost, and compares the dummy hash at this cost. At the usual cost, each sign-in or reset
// would use a quarter of a second of CPU time, and tests could not control when its
// statements run. With HASH_MS, each new hash takes this time, without CPU time.
import { createRequire } from 'node:module'
import { setTimeout as sleep } from 'node:timers/promises'

const hashMs = Number(process.env.HASH_MS ?? 0)
const bcrypt = createRequire(process.argv[1])('bcrypt')
const { compare, hash } = bcrypt
bcrypt.compare = (password, stored) =>
  compare(
    password,
    stored.endsWith('.'.repeat(53)) ? stored.replace(/\d\d/, '04') : stored,
  )
bcrypt.hash = async (password) => {
  if (hashMs > 0) await sleep(hashMs)
  return hash(password, 4)
}
