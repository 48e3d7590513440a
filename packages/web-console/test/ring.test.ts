import t from 'tap'
import { Ring } from '../src/ring.ts'
import { consoleHost, signedIn } from './console-host.ts'

const metrics = (fast: number, slow: number, failed = 0) => [
  {
    name: 'mortise_request_duration_seconds',
    samples: [
      ...buckets('api-cart', '2xx', fast, fast),
      ...buckets('api-purchase', '2xx', 0, slow),
      ...buckets('api-purchase', '5xx', failed, failed),
    ],
  },
  { name: 'process_cpu_seconds_total', samples: [{ value: (fast + slow) / 100 }] },
  { name: 'nodejs_heap_size_used_bytes', samples: [{ value: 1000 }] },
  {
    name: 'mortise_commit_transactions',
    samples: [
      { suffix: '_sum', value: fast },
      { suffix: '_count', value: fast / 4 },
    ],
  },
  {
    name: 'mortise_events_behind',
    samples: [
      { labels: { module: 'a' }, value: 3 },
      { labels: { module: 'b' }, value: 7 },
    ],
  },
  {
    name: 'mortise_database_bytes',
    samples: [{ value: 4096 }],
  },
  {
    name: 'mortise_jobs',
    samples: [
      { labels: { state: 'waiting' }, value: 2 },
      { labels: { state: 'running' }, value: 9 },
    ],
  },
]

function buckets(module: string, status: string, quick: number, all: number) {
  const labels = { module, status }
  return [
    { suffix: '_bucket', labels: { ...labels, le: '0.01' }, value: quick },
    { suffix: '_bucket', labels: { ...labels, le: '0.5' }, value: all },
    { suffix: '_bucket', labels: { ...labels, le: '+Inf' }, value: all },
    { suffix: '_sum', labels, value: all / 50 },
    { suffix: '_count', labels, value: all },
  ]
}

t.test('a sample is the difference of two readings, per second', async (t) => {
  const ring = new Ring()
  ring.add(metrics(1000, 1000), 0)
  t.same(ring.samples, [])
  ring.add(metrics(1098, 1002, 50), 10_000)
  t.match(ring.samples, [
    {
      ...{ at: '1970-01-01T00:00:10.000Z', requests: 15, errors: 5, p50: 10, p99: 500, heap: 1000 },
      ...{ commits: 2.45, writes: 9.8, lag: 7, jobs: 2, database: 4096, disk: null },
      modules: { 'api-cart': { requests: 9.8 }, 'api-purchase': { requests: 5.2 } },
    },
  ])
  t.ok(Math.abs((ring.samples[0]?.cpu ?? 0) - 0.1) < 1e-9)
})

t.test('without requests there is no latency; a process that begins again is no negative rate', async (t) => {
  const ring = new Ring()
  ring.add(metrics(50, 50), 0)
  ring.add(metrics(10, 10), 10_000)
  t.match(ring.samples, [{ requests: 0, p50: null, p99: null, cpu: 0 }])
})

t.test('it keeps an hour, and one sample of two generations that overlap', async (t) => {
  const ring = new Ring()
  for (let second = 0; second <= 7200; second += 10) {
    ring.add(metrics(second, 0), second * 1000)
    ring.add(metrics(second, 0), second * 1000 + 100)
  }
  t.equal(ring.samples.length, 360)
  t.equal(ring.samples.at(-1)?.at, '1970-01-01T02:00:00.000Z')
})

t.test('/console/now has the samples for a session only', async (t) => {
  const host = await consoleHost(t)
  t.equal((await host.app.inject('/console/now')).statusCode, 401)
  const browser = await signedIn(host, 'bob', 'operator:read')
  t.match((await browser.get('/console/now')).json(), { every: 10, samples: [] })
})
