// Loaded into every server under test by default. Hashes new passwords at bcrypt's lowest cost, and
// compares the dummy hash at that cost. At the usual cost, each sign-in or reset would use a quarter
// of a second of CPU time, and tests could not control when its statements run.
import { createRequire } from 'node:module'

const lowestCost = 4
const bcrypt = createRequire(process.argv[1])('bcrypt')
const { compare, hash } = bcrypt
bcrypt.compare = (password, stored) =>
  compare(password, stored.endsWith('.'.repeat(53)) ? stored.replace(/\d\d/, '04') : stored)
bcrypt.hash = (password) => hash(password, lowestCost)
