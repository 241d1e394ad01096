// Loaded into a server under test with `NODE_OPTIONS=--import …`: it waits for requests in progress
// for 0.3 s instead of 30 s when it stops.
const { setTimeout: original } = globalThis

const hurried = (callback, ms, ...parameters) => original(callback, ms === 30_000 ? 300 : ms, ...parameters)
globalThis.setTimeout = Object.defineProperties(hurried, Object.getOwnPropertyDescriptors(original))
