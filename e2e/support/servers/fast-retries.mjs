// Loaded into a server under test with `NODE_OPTIONS=--import …`: `performance.now()`
// runs ten times as fast, so that the server tries Redis again after 0.2 s instead of 2
// s.
const now = performance.now.bind(performance)
performance.now = () => 10 * now()
