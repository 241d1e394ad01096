import { cpus, totalmem } from 'node:os'
import { type Measured, median } from './load'

const runs = 5

/**
 * Prints a Markdown table of each operation. A ratio is the product's value divided by
 * the value of the row, in the same round. The rounds form five runs. The table shows the
 * median of the runs and their range.
 */
export function reportResults(
  results: Map<string, Map<string, Measured[]>>,
  rounds: number,
): void {
  const lines = [
    '| | requests/s | p50 ms | p99 ms | CPU ms per request | product ÷ this (range of 5 runs) | CPU time |',
    '|---|---:|---:|---:|---:|---:|---:|',
  ]
  for (const [operation, subjects] of results) {
    const product = subjects.get('product')!
    for (const [name, own] of subjects) {
      const ratio = (of: (result: Measured) => number) =>
        inRuns(own.map((one, round) => of(product[round]!) / of(one)))
      const { middle, least, most } = ratio(({ perSecond }) => perSecond)
      const compared = [
        `${fixed(middle)} (${fixed(least)}–${fixed(most)})`,
        fixed(ratio(({ cpuMs }) => cpuMs).middle),
      ]
      const value = (of: (result: Measured) => number) =>
        round3(inRuns(own.map(of)).middle)
      const cells = [
        name === 'product' ? operation : `${operation}, ${name}`,
        ...[
          value((one) => one.perSecond),
          value((one) => one.p50),
          value((one) => one.p99),
          value((one) => one.cpuMs),
        ],
        ...(name === 'product' ? ['', ''] : compared),
      ]
      lines.push(`| ${cells.join(' | ')} |`)
    }
  }
  lines.push('', describeRun(`${runs} runs of ${rounds / runs} rounds`))
  console.log(lines.join('\n'))
}

/** Returns a line with the date, the machine, and how often it was measured. */
export function describeRun(amount: string): string {
  const machine = `${cpus().length} × ${cpus()[0]?.model.trim()}, ${Math.round(totalmem() / 2 ** 30)} GB`
  const date = new Date().toISOString().slice(0, 10)
  return `${date}, ${machine}, Node ${process.version}; ${amount}`
}

/** Returns the median, the minimum and the maximum of the runs' medians. */
function inRuns(values: number[]): { middle: number; least: number; most: number } {
  const size = values.length / runs
  const medians = Array.from({ length: runs }, (_, run) =>
    median(values.slice(run * size, (run + 1) * size)),
  )
  return {
    middle: median(medians),
    least: Math.min(...medians),
    most: Math.max(...medians),
  }
}

const fixed = (ratio: number) => ratio.toFixed(2)

/** Rounds to three significant digits, because further digits are noise. */
function round3(value: number): string {
  return Number(value.toPrecision(3)).toLocaleString('en')
}
