import { randomUUID } from 'node:crypto'
import autocannon from 'autocannon'
import type { LoadPlan, LoadRequest, LoadResult } from './load.ts'

// A process of its own, so that what it costs to ask is not taken from who answers.
process.on('message', (plan: LoadPlan) => {
  load(plan).then((result) => process.send?.(result))
})

/** Samples decide when a run ends, and as a whole number of them: the shorter, the closer to the plan. */
const SAMPLE_MS = 50

async function load({ url, connections, seconds }: LoadPlan): Promise<LoadResult> {
  const latencies: number[] = []
  const plans = connections.values()
  const before = process.cpuUsage()
  const { promise, resolve, reject } = Promise.withResolvers<autocannon.Result>()
  const run = autocannon(
    {
      url,
      connections: connections.length,
      duration: seconds,
      sampleInt: SAMPLE_MS,
      setupClient: (client) => client.setRequests((plans.next().value ?? []).map(toRequest)),
    },
    (error, result) => (error ? reject(error) : resolve(result)),
  )
  // Its own histogram knows whole milliseconds only.
  run.on('response', (_client, _status, _bytes, latency) => latencies.push(latency))
  const { '2xx': successes, non2xx, errors, timeouts, start, finish } = await promise
  const elapsed = (finish.getTime() - start.getTime()) / 1000
  const { user, system } = process.cpuUsage(before)
  latencies.sort((one, other) => one - other)
  return {
    requests: successes + non2xx,
    failures: non2xx + errors + timeouts,
    seconds: elapsed,
    p99: latencies[Math.floor(latencies.length * 0.99)] ?? Number.NaN,
    busy: (user + system) / 1e6 / elapsed,
  }
}

function toRequest({ method, path, headers, body, withKey }: LoadRequest): autocannon.Request {
  const request = { method, path, headers: { ...headers }, ...(body === undefined ? {} : { body }) }
  if (!withKey) return request
  // autocannon forgets the host of a request that is set up: it sends undefined:undefined.
  const setupRequest = () => ({
    ...request,
    headers: { ...headers, host: 'localhost', 'idempotency-key': randomUUID() },
  })
  return { ...request, setupRequest }
}
