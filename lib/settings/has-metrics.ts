/**
 * Whether this process exports metrics, or serves them on METRICS_PORT. Reads no other
 * setting, because bin/server.ts calls it. False on Vercel, whose functions do not run
 * between two requests.
 */
export function hasMetrics(): boolean {
  const { METRICS_PORT, VERCEL } = process.env
  return (Boolean(METRICS_PORT?.trim()) || exportsMetrics()) && !VERCEL?.trim()
}

/** Whether metrics are exported to the receiver of the spans. */
export function exportsMetrics(): boolean {
  const { OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_METRICS_EXPORTER } = process.env
  const isOff = OTEL_METRICS_EXPORTER?.trim() === 'none'
  return Boolean(OTEL_EXPORTER_OTLP_ENDPOINT?.trim()) && !isOff
}
