import type { SpanExporter } from '@opentelemetry/sdk-trace-base'
import type { FastifyBaseLogger } from 'fastify'

/**
 * Logs once when the collector fails, and once when it accepts spans again, rather than for each
 * lost batch.
 */
export class LoggingExporter implements SpanExporter {
  readonly #exporter: SpanExporter
  readonly #log: FastifyBaseLogger
  #isFailing = false

  constructor(exporter: SpanExporter, log: FastifyBaseLogger) {
    this.#exporter = exporter
    this.#log = log
  }

  readonly export: SpanExporter['export'] = (spans, done) => {
    this.#exporter.export(spans, (result) => {
      const { error } = result
      if (error !== undefined && !this.#isFailing)
        this.#log.warn(`traces are lost, since the collector does not take them: ${error.message}`)
      if (error === undefined && this.#isFailing) this.#log.info('the collector takes traces again')
      this.#isFailing = error !== undefined
      done(result)
    })
  }

  shutdown(): Promise<void> {
    return this.#exporter.shutdown()
  }
}
