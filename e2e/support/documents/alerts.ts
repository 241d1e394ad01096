import { readFileSync } from 'node:fs'
import { parse } from 'yaml'
import { project } from '../../../bin/dev/local'
import { documents, files } from './documents'

type Rule = { alert: string; expr: string; for?: string }

/** The path of the alert rules. */
export const rulesFile = `${project}deploy/alerts.yaml`

/** The alert rules. */
export const rules: Rule[] = parse(readFileSync(rulesFile, 'utf8')).groups.flatMap(
  (group: { rules: Rule[] }) => group.rules,
)

/** A row of the alerts in docs/operate.md: a rule shows it, or a filter for the log. */
export type Row = { metric: string } & (
  | { rule: string; filter: null }
  | { rule: null; filter: string }
)

/** Returns the rows of the alerts. Throws if a row has neither a rule nor a filter. */
export function readRows(): Row[] {
  const [, section] = documents['docs/operate.md']!.match(/^## Alerts\n(.*?)^## /ms)!
  const lines = section!.split('\n').filter((line) => line.startsWith('| '))

  return lines.slice(1).map((line) => {
    const cells = line.slice(2, -2).split(' | ')
    const [metric, last] = [cells[0]!, cells.at(-1)!]
    const [, rule] = last.match(/^`(Login\w+)`$/) ?? []
    const [, filter] = last.match(/^log: `([^`]+)`$/) ?? []
    if (rule) return { metric, rule, filter: null }
    if (filter) return { metric, rule: null, filter }
    throw new Error(`no rule and no filter: ${metric}`)
  })
}

const sources = files
  .filter((file) =>
    /^(instrumentation|(app|bin|lib)\/(?!.*\.spec\.).*)\.tsx?$/.test(file),
  )
  .map((file) => readFileSync(project + file, 'utf8'))
  .join('\n')

/**
 * Returns lines of the log that a row is about: one for each message of the code that
 * begins or ends with a text of the row.
 */
export function sampleLines({ metric }: Row): object[] {
  const texts = [...metric.matchAll(/`([^`]+)`/g)].map(([, text]) => text!)
  const named = texts.filter((text) => text.includes(' ') && !text.startsWith('npm '))

  return named.flatMap((text) => {
    const quoted = text.replace('… ', '\0').replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')
    const start = quoted.replace('\0', '\\$\\{\\w+\\} ')
    const messages = [...sources.matchAll(new RegExp(`(['"\`])(${start}.*?)\\1`, 'g'))]
    const lines = messages.map(([, , msg]) => ({ level: 'warn', msg: msg! }))
    const reasons = metric.includes('`reason`')
      ? messages.map(([, , reason]) => ({ msg: 'x', cause: { reason } }))
      : []
    return [...lines, ...reasons]
  })
}
