// Loaded into a server under test with `NODE_OPTIONS=--import …`: shifts its clock by
// CLOCK_SHIFT_SECONDS, or by the `clockShiftSeconds` of the last message from the test.
// Acknowledges each of these messages.
let shiftMs = Number(process.env.CLOCK_SHIFT_SECONDS ?? 0) * 1000
process.on('message', ({ clockShiftSeconds }) => {
  if (clockShiftSeconds === undefined) return
  shiftMs = clockShiftSeconds * 1000
  process.send('shifted')
})
const { Date: Real } = globalThis
const now = () => Real.now() + shiftMs

globalThis.Date = new Proxy(Real, {
  apply: () => new Real(now()).toString(),
  construct: (_, given, target) =>
    Reflect.construct(Real, given.length > 0 ? given : [now()], target),
  get: (_, name) => (name === 'now' ? now : Real[name]),
})
