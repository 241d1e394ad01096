import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { project } from '../bin/dev/local'
import { readRows, rules } from '../e2e/support/documents/alerts'
import { documents } from '../e2e/support/documents/documents'
import { routeNames } from '../lib/contract/route-name'

test('each alert in docs/operate.md has a rule or a filter for the log, and each rule a row', () => {
  const rows = readRows()
  expect(rows.length).toBeGreaterThan(40)
  const named = rows.flatMap(({ rule }) => rule ?? [])
  expect(named.toSorted()).toEqual(rules.map(({ alert }) => alert).toSorted())
})

test('the rules use only documented metrics, statuses that are counted from 0, and routes that exist', () => {
  const [, metrics] = documents['docs/operate.md']!.match(/^## Metrics\n(.*?)^## /ms)!
  const documented = new Set(metrics!.match(/\bauth_\w+/g))
  const code = ['metrics', 'state'].map((name) =>
    readFileSync(`${project}lib/metrics/${name}.ts`, 'utf8'),
  )
  const names = [...code.join('').matchAll(/'(auth_\w+)'/g)].map(([, name]) => name!)
  const created = [...new Set(names)]
  const counters = ['auth_requests', 'auth_sign_ins']
  const served = created.map((name) => (counters.includes(name) ? `${name}_total` : name))
  expect([...documented].toSorted()).toEqual(served.toSorted())

  const used = rules.flatMap(({ expr }) => expr.match(/\bauth_\w+/g) ?? [])
  const base = used.map((name) => name.replace(/_bucket$/, ''))
  expect(base.filter((name) => !documented.has(name))).toEqual([])

  const values = (label: string) =>
    rules.flatMap(({ expr }) =>
      [...expr.matchAll(new RegExp(`\\b${label}=~?"([^"]+)"`, 'g'))].flatMap(([, text]) =>
        text!.split('|'),
      ),
    )
  expect(values('route').filter((name) => !isRoute(name))).toEqual([])
  const statuses = ['400', '401', '409', '429', '500', '503']
  expect([...new Set(values('status'))].toSorted()).toEqual(statuses)
})

const isRoute = (name: string) => name === '/.*' || routeNames.includes(name)

test('promtool tests each rule with and without its fault', () => {
  const { tests } = parse(
    readFileSync(`${project}e2e/providers/alerts.test.yaml`, 'utf8'),
  ) as { tests: { alert_rule_test: { alertname: string; exp_alerts: object[] }[] }[] }
  const checks = tests.flatMap(({ alert_rule_test: each }) => each)
  const where = (fires: boolean) =>
    new Set(
      checks
        .filter(({ exp_alerts: alerts }) => alerts.length > 0 === fires)
        .map(({ alertname }) => alertname),
    )
  const names = new Set(rules.map(({ alert }) => alert))
  expect(where(true)).toEqual(names)
  names.delete('LoginCertificateEnds') // its other certificate does not fire
  expect(where(false)).toEqual(names)
})
