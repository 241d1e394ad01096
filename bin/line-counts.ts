// Part of `npm run check`: counts the lines that are not blank, and fails above a limit.
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'

const limits = { product: 13_000, tests: 21_900, bench: 900 }

const source = /\.(ts|tsx|js|mjs|cjs|prisma)$/
const isTest = (path: string) => /^e2e\/|\.(spec|test)\.tsx?$/.test(path)
const isProduct = (path: string) =>
  /^(app|lib|bin|deploy|examples|prisma)\/|^proxy\.ts$/.test(path) &&
  !/^(lib\/page\/texts|prisma\/migrations)\//.test(path)

const counts = { product: 0, tests: 0, bench: 0 }
for (const path of execFileSync('git', ['ls-files', '-z'], { encoding: 'utf8' }).split('\0').filter(Boolean)) {
  if (!source.test(path)) continue
  const part = path.startsWith('bench/') ? 'bench' : isTest(path) ? 'tests' : isProduct(path) ? 'product' : null
  if (part)
    counts[part] += readFileSync(path, 'utf8')
      .split('\n')
      .filter((line) => line.trim()).length
}
for (const part of ['product', 'tests', 'bench'] as const) {
  const isAbove = counts[part] > limits[part]
  console.log(`${part}: ${counts[part]} lines, at most ${limits[part]}${isAbove ? ': TOO MANY' : ''}`)
  if (isAbove) process.exitCode = 1
}
