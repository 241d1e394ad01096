import { mkdirSync, writeFileSync } from 'node:fs'
import { cpus, totalmem } from 'node:os'
import { project } from '../bin/local'
import { type Measured, median } from './load'

export type Start = { name: string; firstResponseMs: number; cpuMs: number; idleMemoryMb: number }

/**
 * Prints the medians of all rounds as Markdown tables, and returns the file that holds every round.
 * Ratios are taken within a round.
 */
export function reportResults(
  variants: { name: string; baseline?: string; note?: string }[],
  measured: Map<string, Measured[]>,
  starts: Start[][],
  rounds: number,
): string {
  const machine = {
    date: new Date().toISOString().slice(0, 10),
    processor: `${cpus().length} × ${cpus()[0]?.model.trim()}`,
    memoryGb: Math.round(totalmem() / 2 ** 30),
    node: process.version,
    rounds,
  }
  const rows = variants.map(({ name, baseline, note }) => {
    const own = measured.get(name)!
    const other = baseline ? measured.get(baseline)! : own
    const ratios = (of: (result: Measured) => number) =>
      own.map((result, round) => of(result) / of(other[round]!)).sort((a, b) => a - b)
    const middle = (of: (result: Measured) => number) => median(own.map(of))
    const perSecond = ratios((result) => result.perSecond)
    return {
      name,
      perSecond: middle((result) => result.perSecond),
      p50: middle((result) => result.p50),
      p99: middle((result) => result.p99),
      cpuMs: middle((result) => result.cpuMs),
      memoryMb: middle((result) => result.memoryMb),
      baseline,
      ratio: median(perSecond),
      ratioRange: [perSecond[0]!, perSecond.at(-1)!],
      p50Ratio: median(ratios((result) => result.p50)),
      p99Ratio: median(ratios((result) => result.p99)),
      cpuRatio: median(ratios((result) => result.cpuMs)),
      meanwhile: own.at(-1)!.meanwhile,
      note,
    }
  })
  const startRows = starts[0]!.map(({ name }) => {
    const of = (round: Start[]) => round.find((start) => start.name === name)!
    return {
      name,
      firstResponseMs: median(starts.map((round) => of(round).firstResponseMs)),
      cpuMs: median(starts.map((round) => of(round).cpuMs)),
      idleMemoryMb: median(starts.map((round) => of(round).idleMemoryMb)),
    }
  })

  const table = [
    '| | requests/s | p50 ms | p99 ms | CPU ms per request | memory MB | baseline | requests/s (range) | p50 | p99 | CPU |',
    '|---|---:|---:|---:|---:|---:|---|---|---:|---:|---:|',
    ...rows.map(
      ({ name, perSecond, p50, p99, cpuMs, memoryMb, baseline, ratio, ratioRange, p50Ratio, p99Ratio, cpuRatio }) => {
        const range = `${ratio.toFixed(2)} (${ratioRange.map((value) => value.toFixed(2)).join('–')})`
        const against = baseline
          ? [baseline, range, p50Ratio.toFixed(2), p99Ratio.toFixed(2), cpuRatio.toFixed(2)]
          : ['', '', '', '', '']
        const own = [round3(perSecond), round3(p50), round3(p99), cpuMs.toFixed(2), memoryMb.toFixed(0)]
        return `| ${[name, ...own, ...against].join(' | ')} |`
      },
    ),
    '',
    '| from the start of the process | first response ms | CPU ms until then | idle memory MB |',
    '|---|---:|---:|---:|',
    ...startRows.map(
      ({ name, firstResponseMs, cpuMs, idleMemoryMb }) =>
        `| ${name} | ${firstResponseMs.toFixed(0)} | ${cpuMs.toFixed(0)} | ${idleMemoryMb.toFixed(0)} |`,
    ),
  ]
  for (const { name, meanwhile } of rows) if (meanwhile) table.push('', `${name}: ${JSON.stringify(meanwhile)}`)
  for (const { name, note } of rows) if (note) table.push('', `${name}: ${note}`)
  table.push(
    '',
    [
      `${machine.date}, ${machine.processor}, ${machine.memoryGb} GB, Node ${machine.node}`,
      `medians of ${rounds} rounds in shuffled order`,
    ].join('; '),
  )
  console.log(table.join('\n'))

  mkdirSync(`${project}bench/results`, { recursive: true })
  const file = `${project}bench/results/${new Date().toISOString().replaceAll(/[:.]/g, '-')}.json`
  writeFileSync(
    file,
    JSON.stringify({ machine, variants: rows, starts: startRows, rounds: Object.fromEntries(measured) }, null, 2),
  )
  return file.slice(project.length)
}

/** Three significant figures: anything more is noise. */
function round3(value: number): string {
  return Number(value.toPrecision(3)).toLocaleString('en')
}
