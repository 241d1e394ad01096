// Loaded into a server under test with `NODE_OPTIONS=--import …`: timers of ten seconds or more end
// after a tenth of their time.
const { setTimeout: original } = globalThis

const faster = (callback, ms, ...parameters) => original(callback, ms >= 10_000 ? ms / 10 : ms, ...parameters)
globalThis.setTimeout = Object.defineProperties(faster, Object.getOwnPropertyDescriptors(original))
