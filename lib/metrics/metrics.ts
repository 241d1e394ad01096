import type { Meter } from '@opentelemetry/api'
import { type IMetricReader, MeterProvider } from '@opentelemetry/sdk-metrics'
import { routeNames } from '../contract/route-name'
import { flushInTime, readResource } from '../log/export'
import { describeCause, log } from '../log/log'
import type { SignInLine } from '../log/telemetry'
import { env } from '../settings/env'
import { exportsMetrics } from '../settings/has-metrics'
import { observeState } from './state'

// from 10 ms to the 30 seconds after which the server ends a request
const bucketsInSeconds = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30]

// OpenTelemetry would combine the labels from 2,000 on.
const manyConnections = ['auth_sign_ins', 'auth_certificate_days'].map(
  (instrumentName) => ({ instrumentName, aggregationCardinalityLimit: 20_000 }),
)

/**
 * Exports metrics with the settings OTEL_EXPORTER_OTLP_…, or serves them on METRICS_PORT,
 * or both. Defines `globalThis.metrics`.
 */
export async function startMetrics(): Promise<void> {
  const readers: IMetricReader[] = []
  if (exportsMetrics()) readers.push((await import('./otlp')).createExportingReader())
  if (env().METRICS_PORT) readers.push(await servePrometheus())

  const resource = readResource()
  const provider = new MeterProvider({ resource, readers, views: manyConnections })
  const meter = provider.getMeter('authentication-completion')
  observeState(meter)

  globalThis.metrics = {
    flush: () => flushInTime(provider),
    ...createCounters(meter),
  }
}

/** If the port is in use, logs it: sign-ins are more important than metrics. */
async function servePrometheus(): Promise<IMetricReader> {
  const { PrometheusExporter } = await import('@opentelemetry/exporter-prometheus')
  const { METRICS_PORT: port, METRICS_HOST: host } = env()
  const exporter = new PrometheusExporter({
    port: port!,
    host,
    preventServerStart: true,
    withoutScopeInfo: true,
  })

  try {
    await exporter.startServer()
  } catch (error) {
    log.error({ cause: describeCause(error) }, 'metrics could not be served')
  }

  return exporter
}

/** Which step of a sign-in a route is: `code` exchanges the code of any sign-in. */
const signInMethods: Record<string, string> = {
  'sign-in': 'password',
  'sign-in-passkey': 'passkey',
  'sign-in-second-factor': 'second_factor',
  'sso-callback': 'oidc',
  'sso-acs': 'saml',
  'sso-exchange': 'code',
}

/** Statuses and results that alerts count. */
const failures = ['429', '500', '503']
const failuresOfDirectories = ['400', '401', '409']
const rejections = [
  { method: 'password', result: 'SIGN_IN_INVALID' },
  { method: 'code', result: 'SSO_EXCHANGE_INVALID' },
]

function createCounters(meter: Meter) {
  const requests = meter.createCounter('auth_requests', {
    description: 'Requests, by route and status',
  })
  const durations = meter.createHistogram('auth_request_duration_seconds', {
    description: 'The duration of requests, by route',
    unit: 's',
    advice: { explicitBucketBoundaries: bucketsInSeconds },
  })
  const signIns = meter.createCounter('auth_sign_ins', {
    description: 'Steps of sign-ins, by method, connection and result',
  })

  // Prometheus sees no increase in a number that begins above 0.
  for (const route of routeNames)
    for (const status of failures) requests.add(0, { route, status })
  for (const status of failuresOfDirectories) requests.add(0, { route: 'scim', status })
  for (const labels of rejections) signIns.add(0, labels)

  return {
    countRequest: (route: string, status: number, seconds: number) => {
      requests.add(1, { route, status: String(status) })
      durations.record(seconds, { route })
    },

    countSignIn: (line: SignInLine) => {
      const method = signInMethods[line.route]
      if (!method) return

      const { connection } = line
      signIns.add(1, {
        method,
        result: readResult(line),
        ...(connection && { connection }),
      })
    },
  }
}

/**
 * Returns the error code or, for a redirect to an error page, the check. Both are words of
 * ours, never text of a client.
 */
function readResult({ code, check, status }: SignInLine): string {
  if (code) return code
  if (check) return check
  return status < 400 ? 'success' : String(status)
}
