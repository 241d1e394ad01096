// Loaded into a server under test with `NODE_OPTIONS=--import …`: timers and abort signals of ten
// seconds or more end after a tenth of their time, or less: FASTER_TIMERS is the divisor.
const { setTimeout: original } = globalThis

const divisor = Number(process.env.FASTER_TIMERS ?? 10)
const shorter = (ms) => (ms >= 10_000 ? Math.floor(ms / divisor) : ms)
const faster = (callback, ms, ...parameters) => original(callback, shorter(ms), ...parameters)
globalThis.setTimeout = Object.defineProperties(faster, Object.getOwnPropertyDescriptors(original))
const timeout = AbortSignal.timeout.bind(AbortSignal)
AbortSignal.timeout = (ms) => timeout(shorter(ms))
