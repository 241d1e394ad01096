// Loaded into a server under test with `NODE_OPTIONS=--import …`: divides the time of
// timers and abort signals of ten seconds or more by FASTER_TIMERS (default: 10). Intervals
// of that length never fire, so that only the requests of a test send emails.
const { setInterval: originalInterval, setTimeout: original } = globalThis

const divisor = Number(process.env.FASTER_TIMERS ?? 10)
const shorter = (ms) => (ms >= 10_000 ? Math.floor(ms / divisor) : ms)
const faster = (callback, ms, ...parameters) =>
  original(callback, shorter(ms), ...parameters)
globalThis.setTimeout = Object.defineProperties(
  faster,
  Object.getOwnPropertyDescriptors(original),
)
globalThis.setInterval = (callback, ms, ...parameters) =>
  originalInterval(ms >= 10_000 ? () => {} : callback, ms, ...parameters)
const timeout = AbortSignal.timeout.bind(AbortSignal)
AbortSignal.timeout = (ms) => timeout(shorter(ms))
