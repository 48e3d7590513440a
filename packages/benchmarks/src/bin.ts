import { parseArgs } from 'node:util'
import { countsOf, fail, UsageError } from './command-line.ts'
import { formatReport } from './format-report.ts'
import { runBenchmark } from './run-benchmark.ts'
import { scenarios } from './scenarios.ts'

const usage = `Usage: npm run benchmark -w packages/benchmarks -- [--rounds 7] [--seconds 1.2] [--only TEXT] [--postgres URL] [--before CHECKOUT] [--json]

Compares the host with bare Fastify servers that do the same work. A ratio is of host ÷ bare, as the median of
the rounds and in brackets the range: throughput above 1, or latency or CPU below 1, is in favour of the host.
--only measures the routes whose name contains TEXT: --only 'GET /cart'.
--postgres measures on the PostgreSQL server at URL, each server in a schema of its own, in place of SQLite.
--before compares with the host of another checkout as well, built: what a change costs.
`

try {
  const { values } = parseArgs({
    options: {
      rounds: { type: 'string', default: '7' },
      seconds: { type: 'string', default: '1.2' },
      only: { type: 'string', default: '' },
      postgres: { type: 'string' },
      before: { type: 'string' },
      json: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  })
  if (values.help) {
    process.stdout.write(usage)
  } else {
    const { rounds } = countsOf(values, ['rounds'])
    const seconds = Number(values.seconds)
    if (!(seconds >= 0.1)) throw new UsageError(`--seconds ${values.seconds}: write a number from 0.1`)
    const { only, postgres, before } = values
    const chosen = scenarios.filter(({ name }) => name.includes(only))
    if (chosen.length === 0) {
      throw new UsageError(`--only ${only}: there are ${scenarios.map(({ name }) => name).join('; ')}`)
    }
    const onProgress = (text: string) => process.stderr.write(`${text} …\n`)
    const report = await runBenchmark({
      scenarios: chosen,
      rounds,
      seconds,
      postgres,
      before,
      onProgress,
    })
    const text = values.json
      ? JSON.stringify({ rounds, seconds, engine: postgres ? 'postgres' : 'sqlite', ...report })
      : formatReport(report)
    process.stdout.write(`${text}\n`)
  }
} catch (error) {
  fail(error, usage)
}
