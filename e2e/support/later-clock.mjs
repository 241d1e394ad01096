// Loaded into a server under test with `NODE_OPTIONS=--import …`. A message `{ laterMs }` of the test
// moves `performance.now()` forward.
const now = performance.now.bind(performance)
let shiftMs = 0
performance.now = () => now() + shiftMs
process.on('message', ({ laterMs = 0 }) => {
  shiftMs += laterMs
})
