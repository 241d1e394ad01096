// Loaded into a server under test with `NODE_OPTIONS=--import …`: timers of ten seconds or more end
// after a tenth of their time, or less: FASTER_TIMERS is the divisor.
const { setTimeout: original } = globalThis

const divisor = Number(process.env.FASTER_TIMERS ?? 10)
const faster = (callback, ms, ...parameters) => original(callback, ms >= 10_000 ? ms / divisor : ms, ...parameters)
globalThis.setTimeout = Object.defineProperties(faster, Object.getOwnPropertyDescriptors(original))
