import pino from 'pino'
import { errorCode, loggableMessages, poolerRemedies } from './error-code'

/**
 * Writes JSON lines. Never log a client's input, except fields that lib/http/route.ts
 * validates.
 */
export const log = pino({
  level: process.env.LOG_LEVEL || 'info',
  base: null,
  timestamp: pino.stdTimeFunctions.isoTime,
  formatters: { level: (label) => ({ level: label }) },
})

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
