/** Next.js calls this once when a server starts, before the first request. */
export async function register(): Promise<void> {
  if (process.env.NEXT_RUNTIME !== 'nodejs') return
  if (process.env.NODE_ENV === 'production') (await import('./lib/quiet-console')).printNoQueries()
  ;(await import('./lib/settings/env')).stopUnlessConfigured()
  if (process.env.SMTP_URL?.trim()) await (await import('./lib/mail/sender')).startSending()
  if (process.env.OTEL_EXPORTER_OTLP_ENDPOINT) (await import('./lib/tracing')).startTracing()
}
