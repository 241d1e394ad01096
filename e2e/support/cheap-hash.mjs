// Loaded into a server under test with `NODE_OPTIONS=--import …`. Hashes passwords at bcrypt's
// lowest cost. At the usual cost, each reset would first use a quarter of a second of CPU time, and
// tests could not control when its statements run.
import { createRequire } from 'node:module'

const lowestCost = 4
const bcrypt = createRequire(process.argv[1])('bcrypt')
const { hash } = bcrypt
bcrypt.hash = (password) => hash(password, lowestCost)
