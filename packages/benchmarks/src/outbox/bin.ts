import { parseArgs } from 'node:util'
import { countsOf, fail } from '../command-line.ts'
import { measureCost } from './measure-cost.ts'
import { runOutbox } from './run-outbox.ts'

const usage = `Usage: npm run outbox -w packages/benchmarks -- [--transactions 10000] [--seed N] [--database postgres://…] [--cost]

Raises counters and emits an event for each, by 16 clients at once, some in transactions that fail, on a host that is
killed now and then: one on SQLite, or with --database three on that PostgreSQL, in a schema of their own. A module
hears the events. At the end the events must be the committed changes, in order, and each be heard once.

With --cost it measures instead what an event costs the write that emits it, as ratios of 9 rounds.
`

try {
  const { values } = parseArgs({
    options: {
      transactions: { type: 'string', default: '10000' },
      seed: { type: 'string', default: String(Date.now() % 1_000_000) },
      database: { type: 'string' },
      cost: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  })
  if (values.help) process.stdout.write(usage)
  else if (values.cost) {
    const cost = await measureCost({ rounds: 9, seconds: 1, database: values.database })
    process.stdout.write(`${JSON.stringify(cost, null, 2)}\n`)
  } else {
    const { transactions, seed } = countsOf(values, ['transactions', 'seed'])
    const { database } = values
    const where = database === undefined ? 'one host on SQLite' : 'three hosts on PostgreSQL'
    process.stdout.write(`seed ${seed}: ${transactions} transactions, ${where}\n`)
    const onProgress = (text: string) => process.stdout.write(`${text}\n`)
    const { failures, ...figures } = await runOutbox({ transactions, seed, database, onProgress })
    process.stdout.write(`${JSON.stringify(figures, null, 2)}\n`)
    for (const failure of failures.slice(0, 50)) process.stdout.write(`failed: ${failure}\n`)
    process.stdout.write(`${failures.length} failures\n`)
    if (failures.length > 0) process.exitCode = 1
  }
} catch (error) {
  fail(error, usage)
}
