import { setTimeout as sleep } from 'node:timers/promises'
import type { BatchObservableResult, Meter, ObservableGauge } from '@opentelemetry/api'
import { asUnavailable } from '../database/errors'
import { databasePool } from '../database/pool'
import { countPending } from '../database/readiness'
import { isCountingAlone } from '../http/rate-limit/limit'
import { appVersion } from '../log/export'
import { describeCause, log } from '../log/log'
import { withoutRequestId } from '../log/request-context'
import { readOutboxBacklog } from '../mail/outbox'
import { readHashQueue } from '../password/hash'
import { sendsMail } from '../settings/env'
import { listCertificateEnds } from '../sso/manage/certificate-warnings'

const readMs = 1_000 // of each part, so that a scrape takes less than 4 seconds
const certificatesMs = 10 * 60 * 1_000 // because all of them are parsed
const dayMs = 24 * 60 * 60 * 1_000

/** Observes the state of the process and of the database whenever metrics are read. */
export function observeState(meter: Meter): void {
  observeProcess(meter)
  observeDatabase(meter)
}

function observeProcess(meter: Meter): void {
  const gauge = (name: string, description: string) =>
    meter.createObservableGauge(name, { description })

  gauge('auth_version_info', 'The version in the label, with the value 1').addCallback(
    (result) => result.observe(1, { version: appVersion }),
  )

  gauge('auth_database_connections', 'Connections of the pool, by state').addCallback(
    (result) => {
      const { totalCount, idleCount, waitingCount } = databasePool()
      result.observe(totalCount - idleCount, { state: 'used' })
      result.observe(idleCount, { state: 'idle' })
      result.observe(waitingCount, { state: 'waiting' })
    },
  )

  gauge('auth_password_hashes', 'Passwords to hash, by state').addCallback((result) => {
    const { running, waiting } = readHashQueue()
    result.observe(running, { state: 'running' })
    result.observe(waiting, { state: 'waiting' })
  })

  gauge(
    'auth_rate_limit_fallback',
    '1 while this process counts requests alone because Redis fails',
  ).addCallback((result) => {
    const isAlone = isCountingAlone()
    if (isAlone !== null) result.observe(Number(isAlone))
  })
}

type Part = (result: BatchObservableResult) => Promise<void>

function observeDatabase(meter: Meter): void {
  const gauges: ObservableGauge[] = []
  const gauge = (name: string, description: string, unit = '') => {
    const created = meter.createObservableGauge(name, { description, unit })
    gauges.push(created)
    return created
  }

  const pending = gauge('auth_migrations_pending', 'Migrations that are not applied')
  const waiting = gauge('auth_outbox_mails', 'Emails that wait to be sent')
  const age = gauge('auth_outbox_age_seconds', 'The age of the oldest of them', 's')
  const days = gauge('auth_certificate_days', 'Days to the end of a certificate', 'd')

  const parts: Part[] = [
    async (result) => result.observe(pending, await countPending()),
    async (result) => {
      if (!sendsMail()) return
      const backlog = await readOutboxBacklog()
      result.observe(waiting, backlog.waiting)
      result.observe(age, backlog.oldestSeconds)
    },
    async (result) => {
      for (const { connection, whose, endsAt } of await readCertificates())
        result.observe(days, (endsAt - Date.now()) / dayMs, { connection, whose })
    },
  ]

  const warn = warnOnceAboutReading()
  meter.addBatchObservableCallback(async (result) => {
    // one after the other, so that they use only one connection of the pool
    for (const part of parts) await inTime(part(result)).catch(warn)
  }, gauges)
}

type Ends = ReturnType<typeof listCertificateEnds>
let certificates: { ends: Ends; readAt: number } | undefined

function readCertificates(): Ends {
  const isRecent =
    certificates && performance.now() < certificates.readAt + certificatesMs
  if (isRecent) return certificates!.ends

  const read = { ends: listCertificateEnds(), readAt: performance.now() }
  certificates = read
  read.ends.catch(() => {
    if (certificates === read) certificates = undefined
  })

  return read.ends
}

function inTime(part: Promise<void>): Promise<void> {
  return Promise.race([part, sleep(readMs, undefined, { ref: false })])
}

/** An unreachable database has its own errors, in the lines of the requests. */
function warnOnceAboutReading(): (error: unknown) => void {
  let hasWarned = false

  return (error) => {
    if (hasWarned || asUnavailable(error)) return

    hasWarned = true
    const line = { cause: describeCause(error) }
    withoutRequestId(() => log.warn(line, 'some metrics could not be read'))
  }
}
