// Loaded into a server under test with `NODE_OPTIONS=--import …`. Hashes passwords at bcrypt's lowest
// cost: a race with a reset takes place in the database, and a quarter of a second of CPU before it
// would hide when it does.
import { createRequire } from 'node:module'

const lowestCost = 4
const bcrypt = createRequire(process.argv[1])('bcrypt')
const { hash } = bcrypt
bcrypt.hash = (password) => hash(password, lowestCost)
