import { setTimeout as sleep } from 'node:timers/promises'
import {
  defaultResource,
  detectResources,
  envDetector,
  type Resource,
  resourceFromAttributes,
} from '@opentelemetry/resources'
import { describeCause, log } from './log'
import { withoutRequestId } from './request-context'

const flushMs = 2_000

/**
 * Returns what spans and metrics tell about this service: its name and version, or what
 * OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES say.
 */
export function readResource(): Resource {
  const own = resourceFromAttributes({
    'service.name': 'authentication-completion',
    'service.version': appVersion,
  })
  return defaultResource()
    .merge(own)
    .merge(detectResources({ detectors: [envDetector] }))
}

/** The version in package.json at the time of the build (next.config.mjs). */
export const appVersion = process.env.APP_VERSION ?? 'unknown'

/** Exports what is queued. Ignores errors, and resolves after two seconds at the latest. */
export function flushInTime(provider: { forceFlush(): Promise<void> }): Promise<void> {
  return Promise.race([provider.forceFlush().catch(() => {}), sleep(flushMs)])
}

/**
 * Returns a function that logs the first failed export as a warning, with the HTTP status
 * of the receiver. OpenTelemetry ignores failures between two flushes.
 */
export function warnOnce(message: string): (error: Error & { code?: unknown }) => void {
  let hasWarned = false

  return (error) => {
    if (hasWarned) return

    hasWarned = true
    const { code } = error
    const status = typeof code === 'number' ? { status: code } : {}
    const line = { ...status, cause: describeCause(error) }
    withoutRequestId(() => log.warn(line, message))
  }
}
