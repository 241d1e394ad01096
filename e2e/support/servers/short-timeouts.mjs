// Loaded into a server under test with `NODE_OPTIONS=--import …`: reduces its timers of 3
// seconds or more, its timeouts in PostgreSQL and the timeouts of its HTTP server to a
// quarter.
import http from 'node:http'
import { createRequire, syncBuiltinESMExports } from 'node:module'

const shortened = (ms) => (ms >= 3_000 ? ms / 4 : ms)

const { setTimeout: original } = globalThis
const shorter = (callback, ms, ...parameters) =>
  original(callback, shortened(ms), ...parameters)
globalThis.setTimeout = Object.defineProperties(
  shorter,
  Object.getOwnPropertyDescriptors(original),
)

const pg = createRequire(process.argv[1])('pg')
const { query } = pg.Client.prototype
pg.Client.prototype.query = function (config, ...rest) {
  if (typeof config?.text === 'string')
    config.text = config.text.replace(/(?<=SET \w+timeout = )\d+/g, (ms) =>
      String(shortened(Number(ms))),
    )
  return query.call(this, config, ...rest)
}

const { createServer } = http
http.createServer = (options, ...rest) => {
  const isTimeout = ([name, value]) =>
    /Timeout$|Interval$/.test(name) && typeof value === 'number'
  const shorterOptions = Object.entries(options ?? {}).map((entry) =>
    isTimeout(entry) ? [entry[0], shortened(entry[1])] : entry,
  )
  const given = {
    connectionsCheckingInterval: 500,
    ...Object.fromEntries(shorterOptions),
  }
  return createServer(typeof options === 'object' ? given : options, ...rest)
}
syncBuiltinESMExports()
