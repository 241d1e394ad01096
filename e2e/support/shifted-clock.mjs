// Loaded into a server under test with `NODE_OPTIONS=--import …`: its clock is wrong by
// CLOCK_SHIFT_SECONDS.
const shiftMs = Number(process.env.CLOCK_SHIFT_SECONDS) * 1000
const { Date: Real } = globalThis

globalThis.Date = class extends Real {
  constructor(...given) {
    super(...(given.length > 0 ? given : [Real.now() + shiftMs]))
  }

  static now() {
    return Real.now() + shiftMs
  }
}
