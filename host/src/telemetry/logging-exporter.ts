import type { SpanExporter } from '@opentelemetry/sdk-trace-base'
import type { FastifyBaseLogger } from 'fastify'

/** Logs once when the collector fails, and once when it accepts spans again. */
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
        this.#log.warn(`traces are lost, because the collector does not accept them: ${error.message}`)
      if (error === undefined && this.#isFailing) this.#log.info('the collector accepts traces again')
      this.#isFailing = error !== undefined
      done(result)
    })
  }

  shutdown(): Promise<void> {
    return this.#exporter.shutdown()
  }
}
