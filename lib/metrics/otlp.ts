import { OTLPMetricExporter } from '@opentelemetry/exporter-metrics-otlp-http'
import {
  type IMetricReader,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics'
import { warnOnce } from '../log/export'

/**
 * Returns a reader that exports the metrics every OTEL_METRIC_EXPORT_INTERVAL
 * milliseconds, with the settings OTEL_EXPORTER_OTLP_….
 */
export function createExportingReader(): IMetricReader {
  const exportIntervalMillis = Number(process.env.OTEL_METRIC_EXPORT_INTERVAL) || 60_000
  return new PeriodicExportingMetricReader({
    exporter: new WarningExporter(),
    exportIntervalMillis,
    exportTimeoutMillis: Math.min(exportIntervalMillis, 30_000),
  })
}

class WarningExporter extends OTLPMetricExporter {
  readonly #warn = warnOnce('metrics could not be exported')

  override export(
    metrics: Parameters<OTLPMetricExporter['export']>[0],
    done: Parameters<OTLPMetricExporter['export']>[1],
  ): void {
    super.export(metrics, (result) => {
      if (result.error) this.#warn(result.error)
      done(result)
    })
  }
}
