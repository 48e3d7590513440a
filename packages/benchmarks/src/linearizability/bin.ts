import { parseArgs } from 'node:util'
import { countsOf, fail } from '../command-line.ts'
import { findBugs } from './find-bugs.ts'
import { runLinearizability } from './run-linearizability.ts'

const usage = `Usage: npm run linearizability -w packages/benchmarks -- [--rounds 200] [--seed N] [--database postgres://…]

16 clients at once read, fill, change, clear and claim one cart, on one host on SQLite, or with --database on three hosts on
that PostgreSQL, in a schema of their own. The history of each round must be one that a cart used by one after the other
could have. In every fifth round a host is killed, and then once more amid two claims of a guest who adds all the while.
Then mistakes are planted in the code, one at a time, each of which must be found. The seed decides what is asked; what
meets what depends on the machine too.
`

try {
  const { values } = parseArgs({
    options: {
      rounds: { type: 'string', default: '200' },
      seed: { type: 'string', default: String(Date.now() % 1_000_000) },
      database: { type: 'string' },
      help: { type: 'boolean', default: false },
    },
  })
  if (values.help) process.stdout.write(usage)
  else {
    const { rounds, seed } = countsOf(values, ['rounds', 'seed'])
    const { database } = values
    const where = database === undefined ? 'one host on SQLite' : 'three hosts on PostgreSQL'
    process.stdout.write(`seed ${seed}: ${rounds} rounds, ${where}\n`)
    const onProgress = (text: string) => process.stdout.write(`${text}\n`)
    const { failure, ...figures } = await runLinearizability({ rounds, seed, database, onProgress })
    process.stdout.write(`${JSON.stringify(figures)}\n${failure ?? 'Each history is linearizable.'}\n`)
    const { planted, missed } = await findBugs({ seed, database, onProgress })
    process.stdout.write(`${planted.length - missed.length} of ${planted.length} planted bugs found\n`)
    if (failure !== undefined || missed.length > 0) process.exitCode = 1
  }
} catch (error) {
  fail(error, usage)
}
