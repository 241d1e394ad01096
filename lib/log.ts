import pino from 'pino'

/** One JSON object a line on stdout. Log nothing that came from a client, except through the fields of `api-route.ts`. */
export const log = pino({
  level: process.env.LOG_LEVEL || 'info',
  base: null,
  timestamp: pino.stdTimeFunctions.isoTime,
  formatters: { level: (label) => ({ level: label }) },
})
