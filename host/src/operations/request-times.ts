import fp from 'fastify-plugin'
import type { RequestDurations } from '../metrics/request-durations.ts'

export interface RequestTimesOptions {
  readonly requests: RequestDurations
}

/** Has every request counted that is answered, by its route. */
export const requestTimes = fp<RequestTimesOptions>(
  async (app, { requests }) => {
    app.addHook('onResponse', ({ routeOptions, method }, { statusCode, elapsedTime }, done) => {
      requests.observe(routeOptions.config, method, statusCode, elapsedTime)
      done()
    })
  },
  { name: 'request-times', fastify: '5.x' },
)
