// Loaded into a server under test with `NODE_OPTIONS=--import …`. Hashes passwords at bcrypt's
// lowest cost. Races take place in the database, and tests could not time them if each reset first
// used a quarter of a second of CPU time.
import { createRequire } from 'node:module'

const lowestCost = 4
const bcrypt = createRequire(process.argv[1])('bcrypt')
const { hash } = bcrypt
bcrypt.hash = (password) => hash(password, lowestCost)
