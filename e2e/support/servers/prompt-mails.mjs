// Loaded into a server under test with `NODE_OPTIONS=--import …`: divides random delays by
// 20. The server delays emails by such times, which hide whether a user exists. No other
// delay has a fraction of a millisecond.
import { syncBuiltinESMExports } from 'node:module'
import timers from 'node:timers/promises'

const { setTimeout: original } = timers
timers.setTimeout = (ms, ...parameters) =>
  original(Number.isInteger(ms) ? ms : ms / 20, ...parameters)
syncBuiltinESMExports()
