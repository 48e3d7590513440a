import fp from 'fastify-plugin'
import { isStream, type RequestDurations } from '../telemetry/observe-requests.ts'
import { isModuleFailure, type ResponseCounts } from './response-counts.ts'

export interface ResponseCountingOptions {
  readonly requests: RequestDurations
  /** The watch of the modules. */
  readonly watch?: ModuleWatch | undefined
}

export interface ModuleWatch {
  readonly responses: ResponseCounts
  /** Called with the module of each failed response. */
  readonly onFailure: (module: string) => void
}

/** Counts every response by its route; for the watch of a module none with 503, no stream. */
export const responseCounting = fp<ResponseCountingOptions>(
  async (app, { requests, watch }) => {
    app.addHook('onResponse', ({ routeOptions: { config }, method, problem }, reply, done) => {
      if (isStream(reply)) return done()
      const { statusCode, elapsedTime } = reply
      requests.observe(config, method, statusCode, elapsedTime)
      if (watch && config.module !== undefined && statusCode !== 503) {
        const isFailed = isModuleFailure(statusCode, problem)
        watch.responses.count(config.module, isFailed)
        if (isFailed) watch.onFailure(config.module)
      }
      done()
    })
  },
  { name: 'response-counting', fastify: '5.x' },
)
