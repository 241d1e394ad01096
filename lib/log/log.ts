import pino from 'pino'
import { errorCode, loggableMessages, poolerRemedies } from './error-code'
import { currentRequestId } from './request-context'
import './telemetry' // the type of globalThis.tracing

/**
 * Writes JSON lines, with the ID of the request in which they are written, and that of
 * its trace. Never log a client's input, except fields that lib/http/route.ts validates.
 */
export const log = pino({
  level: readLevel(process.env.LOG_LEVEL),
  base: null,
  timestamp: pino.stdTimeFunctions.isoTime,
  formatters: { level: (label) => ({ level: label }) },
  mixin: () => {
    const requestId = currentRequestId()
    if (requestId === null) return {}

    const traceId = globalThis.tracing?.readTraceId()
    return { requestId, ...(traceId && { traceId }) }
  },
})

/** Any other level is `info`. lib/settings/env.ts rejects it later, with a clear message. */
function readLevel(given = ''): string {
  return /^(debug|info|warn|error|silent)$/.test(given.trim()) ? given.trim() : 'info'
}

/**
 * Returns the loggable parts of an error. Messages may quote values, so only some
 * messages of `pg` are included, and what to do if a pooler is the cause.
 */
export function describeCause(cause: unknown): {
  name: string
  code?: string
  reason?: string
  at?: string
} {
  if (!(cause instanceof Error)) return { name: typeof cause }

  const code =
    errorCode(cause) ??
    (cause.cause instanceof Error ? errorCode(cause.cause) : undefined)
  const message = loggableMessages.test(cause.message) && cause.message
  const reason = code ? poolerRemedies[code] : message

  return {
    name: cause.name,
    ...(code && { code }),
    ...(reason && { reason }),
    at: readFrames(cause),
  }
}

/**
 * Returns the stack frames of an error, without its message, which may contain lines that
 * look like frames.
 */
function readFrames({ stack = '', message }: Error): string {
  const frames = stack.replace(message, '').match(/(?<=^\s+)at .+/gm) ?? []
  return frames.slice(0, 5).join(' < ')
}
