// Loaded into a server under test with `NODE_OPTIONS=--import …`. Prints `hashed 2^12`
// for each bcrypt that the server requests, so that a test can count the work of a
// request. The bcrypt itself is cheap.
import { createRequire } from 'node:module'
import './cheap-hash.mjs'

const bcrypt = createRequire(process.argv[1])('bcrypt')
const { compare, hash } = bcrypt
bcrypt.compare = (password, stored) => {
  console.log(`hashed 2^${Number(stored.slice(4, 6))}`)
  return compare(password, stored)
}
bcrypt.hash = (password, cost) => {
  console.log(`hashed 2^${cost}`)
  return hash(password)
}
