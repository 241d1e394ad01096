// Loaded into a server under test with `NODE_OPTIONS=--import …`: its clock is wrong by
// CLOCK_SHIFT_SECONDS, and runs backwards with CLOCK_RUNS_BACK.
const shiftMs = Number(process.env.CLOCK_SHIFT_SECONDS ?? 0) * 1000
const { Date: Real } = globalThis
const startedAt = Real.now()
const now = process.env.CLOCK_RUNS_BACK ? () => 2 * startedAt - Real.now() + shiftMs : () => Real.now() + shiftMs

globalThis.Date = new Proxy(Real, {
  apply: () => new Real(now()).toString(),
  construct: (_, given, target) => Reflect.construct(Real, given.length > 0 ? given : [now()], target),
  get: (_, name) => (name === 'now' ? now : Real[name]),
})
