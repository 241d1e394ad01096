import pino from 'pino'

/** One JSON object a line on stdout. Log nothing that came from a client, except through the fields of `api-route.ts`. */
export const log = pino({
  level: process.env.LOG_LEVEL || 'info',
  base: null,
  timestamp: pino.stdTimeFunctions.isoTime,
  formatters: { level: (label) => ({ level: label }) },
})

/** What the log may know of a fault: its kind and where it arose. Not its message, which may quote parameters. */
export function describeCause(cause: unknown): { name: string; code?: string; at?: string } {
  if (!(cause instanceof Error)) return { name: typeof cause }
  const { code } =
    ([cause, cause.cause].find((error) => (error as { code?: unknown } | undefined)?.code) as { code?: unknown }) ?? {}
  const at = cause.stack
    ?.split('\n')
    .filter((line) => /^\s+at /.test(line))
    .slice(0, 5)
    .map((line) => line.trim())
    .join(' < ')
  return { name: cause.name, ...(typeof code === 'string' && { code }), at }
}
