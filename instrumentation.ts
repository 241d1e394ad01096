/** Runs once when a server starts, before its first request. */
export async function register(): Promise<void> {
  if (process.env.NEXT_RUNTIME === 'nodejs') (await import('./lib/env')).stopUnlessConfigured()
}
