import { randomUUID } from 'node:crypto'
import autocannon from 'autocannon'
import type { LoadPlan, LoadRequest, LoadResult } from './load.ts'

// A separate process, so that its cost does not count as the server's.
process.on('message', (plan: LoadPlan) => {
  load(plan).then((result) => process.send?.(result))
})

/** A run ends with a whole sample: the shorter the samples, the closer to the plan. */
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
  // autocannon's own histogram has only whole milliseconds.
  run.on('response', (_client, _status, _bytes, latency) => latencies.push(latency))
  const { '2xx': successes, non2xx, errors, timeouts, start, finish } = await promise
  const elapsed = (finish.getTime() - start.getTime()) / 1000
  const { user, system } = process.cpuUsage(before)
  latencies.sort((one, other) => one - other)
  const at = (share: number) => latencies[Math.floor(latencies.length * share)] ?? Number.NaN
  return {
    requests: successes + non2xx,
    failures: non2xx + errors + timeouts,
    seconds: elapsed,
    median: at(0.5),
    p99: at(0.99),
    busy: (user + system) / 1e6 / elapsed,
  }
}

function toRequest({ method, path, headers, body, withKey }: LoadRequest): autocannon.Request {
  const request = { method, path, headers: { ...headers }, ...(body === undefined ? {} : { body }) }
  if (!withKey) return request
  // autocannon drops the host of a request with setup: it sends undefined:undefined.
  const setupRequest = () => ({
    ...request,
    headers: { ...headers, host: 'localhost', 'idempotency-key': randomUUID() },
  })
  return { ...request, setupRequest }
}
