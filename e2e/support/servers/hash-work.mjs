// Loaded into a server under test with `NODE_OPTIONS=--import …`. Prints `hashed 2^12`
// for each bcrypt that the server requests, so that a test can count the work of a
// request. The bcrypt itself is cheap, but one of cost 10 takes 60 ms.
import { createRequire } from 'node:module'
import { setTimeout as sleep } from 'node:timers/promises'
import './cheap-hash.mjs'

const bcrypt = createRequire(process.argv[1])('bcrypt')
const { compare, hash } = bcrypt
bcrypt.compare = async (password, stored) => {
  const cost = Number(stored.slice(4, 6))
  console.log(`hashed 2^${cost}`)
  if (cost !== 10) return compare(password, stored)

  await sleep(60)
  return compare(password, stored.replace('10', '04'))
}
bcrypt.hash = (password, cost) => {
  console.log(`hashed 2^${cost}`)
  return hash(password)
}
