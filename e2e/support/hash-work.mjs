// Loaded into a server under test with `NODE_OPTIONS=--import …`. Prints `hashed 2^12` for each
// bcrypt that the server starts, so that a test can count the work of a request. To save time,
// comparisons with the dummy hash use the lowest cost, and new hashes use HASH_COST, if that is
// set.
import { createRequire } from 'node:module'

const newCost = Number(process.env.HASH_COST)
const bcrypt = createRequire(process.argv[1])('bcrypt')
const { compare, hash } = bcrypt
bcrypt.compare = (password, stored) => {
  console.log(`hashed 2^${Number(stored.slice(4, 6))}`)
  return compare(password, stored.endsWith('.'.repeat(53)) ? stored.replace(/\d\d/, '04') : stored)
}
bcrypt.hash = (password, cost) => {
  console.log(`hashed 2^${cost}`)
  return hash(password, newCost || cost)
}
