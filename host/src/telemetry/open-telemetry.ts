import { hostname } from 'node:os'
import { FastifyOtelInstrumentation } from '@fastify/otel'
import { type Database, DatabaseError, type ReadOptions, type Sql } from '@mortise/module-sdk'
import { engines, type Storage } from '@mortise/storage'
import {
  context,
  propagation,
  type Span,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  trace,
} from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { W3CTraceContextPropagator } from '@opentelemetry/core'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { detectResources, envDetector, resourceFromAttributes } from '@opentelemetry/resources'
import { BasicTracerProvider, BatchSpanProcessor, type SpanExporter } from '@opentelemetry/sdk-trace-base'
import type { FastifyBaseLogger, FastifyInstance, FastifyRequest } from 'fastify'
import { settlesWithin } from './settles-within.ts'
import { hostVersion } from './version.ts'

type Read = [query: Sql, options?: ReadOptions]

/** Time limit for sending the remaining spans, in milliseconds. */
const FLUSH_TIMEOUT = 2_000

/**
 * Sends spans by OTLP/HTTP. Belongs to the process and outlives generations. The libraries read the standard OTEL_ variables for sampling, batches,
 * headers and resource themselves. Modules get it from `@opentelemetry/api`, so a process has only
 * one.
 */
export class OpenTelemetry {
  readonly #provider: BasicTracerProvider
  /** One for the whole process: it keeps no state of an instance. */
  readonly #instrumentation: FastifyOtelInstrumentation

  constructor(endpoint: string, application: { name: string; version: string }, log: FastifyBaseLogger) {
    const exporter = new OTLPTraceExporter({ url: `${endpoint.replace(/\/$/, '')}/v1/traces` })
    this.#provider = new BasicTracerProvider({
      resource: resourceFromAttributes({
        'service.name': application.name,
        'service.version': application.version,
        'service.instance.id': `${hostname()}:${process.pid}`,
      }).merge(detectResources({ detectors: [envDetector] })),
      spanProcessors: [new BatchSpanProcessor(logging(exporter, log))],
    })
    trace.setGlobalTracerProvider(this.#provider)
    context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
    propagation.setGlobalPropagator(new W3CTraceContextPropagator())
    this.#instrumentation = new FastifyOtelInstrumentation({
      requestHook: describe,
      instrumentHooks: false,
      // The instrumentation of handlers would record each thrown problem, even a 404, as a failure
      // with its text.
      ignorePaths: (route) => 'handler' in route,
    })
    this.#instrumentation.setTracerProvider(this.#provider)
  }

  /** Traces every request to `app`. Call it before anything that may send a response. */
  async trace(app: FastifyInstance): Promise<void> {
    app.addHook('onRoute', (route) => {
      // Probes call these routes every few seconds, only to check the host.
      if (route.config?.unlimited) route.config = { ...route.config, otel: false }
    })
    app.addHook('onResponse', (request, { statusCode }, done) => {
      if (statusCode >= 500) fail(request.opentelemetry().span, String(statusCode))
      done()
    })
    // Its onResponse hook ends the span.
    await app.register(this.#instrumentation.plugin())
  }

  /** For work within a request; undefined if its route is not traced. */
  traceparentOf(request: FastifyRequest): string | undefined {
    const { context } = request.opentelemetry()
    const span = context ? trace.getSpanContext(context) : undefined
    return span && `00-${span.traceId}-${span.spanId}-0${span.traceFlags & TraceFlags.SAMPLED}`
  }

  /** The database, with a span for each statement during a traced request. */
  database(database: Database & Pick<Storage, 'engine'>): Database {
    const tracer = this.#provider.getTracer('@mortise/host', hostVersion)
    const attributes = { 'db.system.name': engines[database.engine].telemetryName }
    const inSpan = <Result>(name: string, work: () => Promise<Result>): Promise<Result> => {
      if (trace.getActiveSpan() === undefined) return work()
      return tracer.startActiveSpan(
        `database ${name}`,
        { kind: SpanKind.CLIENT, attributes },
        async (span) => {
          try {
            return await work()
          } catch (error) {
            if (error instanceof DatabaseError) fail(span, error.kind)
            throw error
          } finally {
            span.end()
          }
        },
      )
    }
    return {
      many: <Row>(...read: Read) => inSpan('read', () => database.many<Row>(...read)),
      maybeOne: <Row>(...read: Read) => inSpan('read', () => database.maybeOne<Row>(...read)),
      one: <Row>(...read: Read) => inSpan('read', () => database.one<Row>(...read)),
      snapshot: (...read) => inSpan('snapshot', () => database.snapshot(...read)),
      transaction: (steps) => inSpan('transaction', () => database.transaction(steps)),
    }
  }

  /** Sends the remaining spans. */
  async close(): Promise<void> {
    await settlesWithin(
      FLUSH_TIMEOUT,
      this.#provider.shutdown().catch(() => {}),
    )
    for (const global of [trace, context, propagation]) global.disable()
  }
}

/** Logs once when the collector fails, and once when it accepts spans again. */
function logging(exporter: SpanExporter, log: FastifyBaseLogger): SpanExporter {
  let isFailing = false
  return {
    export(spans, done) {
      exporter.export(spans, (result) => {
        const { error } = result
        if (error !== undefined && !isFailing)
          log.warn(`traces are lost, because the collector does not accept them: ${error.message}`)
        if (error === undefined && isFailing) log.info('the collector accepts traces again')
        isFailing = error !== undefined
        done(result)
      })
    },
    shutdown: () => exporter.shutdown(),
  }
}

/** By route pattern and without the query, which may contain private data. */
function describe(span: Span, { id, method, url, protocol, routeOptions }: FastifyRequest): void {
  const { url: route, config } = routeOptions
  span.updateName(route === undefined ? method : `${method} ${route}`)
  span.setAttributes({
    'url.path': url.split(/[?#]/, 1)[0],
    'url.scheme': protocol,
    'mortise.module': config.module ?? 'host',
    'mortise.request_id': id,
  })
}

function fail(span: Span | null, type: string): void {
  span?.setAttribute('error.type', type).setStatus({ code: SpanStatusCode.ERROR })
}
