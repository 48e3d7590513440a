import fp from 'fastify-plugin'
import { isStream } from '../http/is-stream.ts'
import type { RequestDurations } from '../telemetry/request-durations.ts'

export interface RequestTimesOptions {
  readonly requests: RequestDurations
}

/** Has every request counted that is answered, by its route, other than streams. */
export const requestTimes = fp<RequestTimesOptions>(
  async (app, { requests }) => {
    app.addHook('onResponse', ({ routeOptions, method }, reply, done) => {
      const { statusCode, elapsedTime } = reply
      if (!isStream(reply)) requests.observe(routeOptions.config, method, statusCode, elapsedTime)
      done()
    })
  },
  { name: 'request-times', fastify: '5.x' },
)
