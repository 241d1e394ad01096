// Loaded into every server under test by default. Hashes new passwords at the cost
// HASH_COST, by default bcrypt's lowest, and compares the dummy hash at the lowest cost.
// At the usual cost, each sign-in or reset would use a quarter of a second of CPU time,
// and tests could not control when its statements run.
import { createRequire } from 'node:module'

const cost = Number(process.env.HASH_COST ?? 4)
const bcrypt = createRequire(process.argv[1])('bcrypt')
const { compare, hash } = bcrypt
bcrypt.compare = (password, stored) =>
  compare(
    password,
    stored.endsWith('.'.repeat(53)) ? stored.replace(/\d\d/, '04') : stored,
  )
bcrypt.hash = (password) => hash(password, cost)
