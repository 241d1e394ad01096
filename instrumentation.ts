/** Next.js calls this once when a server starts, before the first request. */
export async function register(): Promise<void> {
  if (process.env.NEXT_RUNTIME !== 'nodejs') return
  if (process.env.NODE_ENV === 'production')
    (await import('./lib/log/redact-console')).redactConsole()

  const {
    emptySettings,
    env,
    envFileWarnings,
    ignoredParameters,
    renamedSetting,
    stopUnlessConfigured,
    unencryptedUrls,
  } = await import('./lib/settings/env')

  const empty = emptySettings(process.env)
  if (empty.length > 0)
    (await import('./lib/log/log')).log.warn(
      { settings: empty },
      'settings are present but empty: their defaults apply',
    )

  for (const { settings, message } of envFileWarnings(process.env))
    (await import('./lib/log/log')).log.warn({ settings }, message)

  const renamed = renamedSetting(process.env)
  if (renamed) (await import('./lib/log/log')).log.warn(renamed)

  stopUnlessConfigured()
  const ignored = ignoredParameters(process.env.DATABASE_URL)

  if (ignored.length > 0)
    (await import('./lib/log/log')).log.warn(
      { parameters: ignored },
      'parameters of DATABASE_URL have no effect',
    )

  const unencrypted = process.env.NODE_ENV === 'production' ? unencryptedUrls(env()) : []
  for (const setting of unencrypted)
    (await import('./lib/log/log')).log.warn(
      { setting },
      'this URL leads to another host without TLS',
    )

  // Before the database, whose statements get spans.
  if (process.env.OTEL_EXPORTER_OTLP_ENDPOINT?.trim())
    (await import('./lib/log/tracing')).startTracing()
  if ((await import('./lib/settings/has-metrics')).hasMetrics())
    await (await import('./lib/metrics/metrics')).startMetrics()

  // Loads Prisma's query compiler, so that the first request does not wait for it. Opens
  // no connection.
  await (await import('./lib/database/prisma')).prisma().$connect()
  if (env().HTTPS_PROXY || env().HTTP_PROXY)
    await (await import('./lib/outgoing')).useProxyForFetch()
  if (process.env.SMTP_URL?.trim())
    await (await import('./lib/mail/sender')).startSending()
  if (env().ID_TOKEN_SIGNING_KEYS)
    (await import('./lib/client/logout-notices')).startNotices()
}
