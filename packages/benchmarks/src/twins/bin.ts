import { parseArgs } from 'node:util'
import { countsOf, fail } from '../command-line.ts'
import { runTwins } from './run-twins.ts'

const usage = `Usage: npm run twins -w packages/benchmarks -- [--keys 1000] [--seed N] [--database postgres://…]

Sends each request with an Idempotency-Key by up to 5 clients at once, which are cut off before, amid and after the
answer, to a host that is killed now and then: one on SQLite, or with --database three on that PostgreSQL, in a schema
of their own, whose connections break when COMMIT was sent. Each request must take effect once, and every answer to it
be the same to the byte. The seed decides what is sent and cut; what a kill or a cut meets depends on the machine too.
`

try {
  const { values } = parseArgs({
    options: {
      keys: { type: 'string', default: '1000' },
      seed: { type: 'string', default: String(Date.now() % 1_000_000) },
      database: { type: 'string' },
      help: { type: 'boolean', default: false },
    },
  })
  if (values.help) process.stdout.write(usage)
  else {
    const { keys, seed } = countsOf(values, ['keys', 'seed'])
    const { database } = values
    const where = database === undefined ? 'one host on SQLite' : 'three hosts on PostgreSQL'
    process.stdout.write(`seed ${seed}: ${keys} keys, ${where}\n`)
    const begun = performance.now()
    const onProgress = (text: string) => process.stdout.write(`${text}\n`)
    const { failures, ...figures } = await runTwins({ keys, seed, database, onProgress })
    const seconds = Math.round((performance.now() - begun) / 1000)
    process.stdout.write(`${JSON.stringify({ ...figures, seconds }, null, 2)}\n${failures.length} failures\n`)
    if (failures.length > 0) {
      const rest = database === undefined ? '' : ' --database …'
      process.stdout.write(
        `Again: npm run twins -w packages/benchmarks -- --keys ${keys} --seed ${seed}${rest}\n`,
      )
      process.exitCode = 1
    }
  }
} catch (error) {
  fail(error, usage)
}
