import { parseArgs } from 'node:util'
import { runMove } from './run-move.ts'

const usage = `Usage: npm run move -w packages/benchmarks -- --server postgres://… [--purchases 1000000] [--kills 0] [--seed 1]

Moves an application from SQLite to PostgreSQL with "app migrate-data" while it is read, and compares both. The command is
killed so often before, at moments drawn from the seed; the times are then those of the run that ends it. The server
is on this machine, and its user may COPY files. It gets a schema, which is dropped at the end.
`

const { values } = parseArgs({
  options: {
    server: { type: 'string', default: process.env.APP_TEST_DATABASE_URL ?? '' },
    purchases: { type: 'string', default: '1000000' },
    kills: { type: 'string', default: '0' },
    seed: { type: 'string', default: '1' },
    help: { type: 'boolean', default: false },
  },
})
const purchases = Number(values.purchases)
if (values.help || values.server === '' || !Number.isInteger(purchases) || purchases < 1) {
  process.stdout.write(usage)
  process.exitCode = values.help ? 0 : 2
} else {
  const say = (text: string) => process.stdout.write(`${text}\n`)
  const { tables, took, reads, failures } = await runMove({
    purchases,
    server: values.server,
    kills: Number(values.kills),
    seed: Number(values.seed),
    onProgress: say,
  })
  for (const { table, rows, checksum, sqlite, postgres } of tables) {
    say(`${table}: ${rows} rows, SHA-256 ${checksum}`)
    say(`  sums in SQLite     ${sqlite}\n  sums in PostgreSQL ${postgres}`)
  }
  const seconds = (milliseconds: number) => `${(milliseconds / 1000).toFixed(1)} s`
  say(`app migrate-data: ${seconds(took.move)}, of them ${seconds(took.held)} with writes held back`)
  say(`÷ COPY of the same rows (${seconds(took.copy)}): ${(took.move / took.copy).toFixed(1)}`)
  say(`÷ reading all rows in SQLite (${seconds(took.read)}): ${(took.move / took.read).toFixed(1)}`)
  say(
    `reads meanwhile: ${reads.count}, ${reads.failed} failed, p99 ${reads.p99} ms (before: ${reads.before} ms)`,
  )
  for (const failure of failures) say(`FAILED: ${failure}`)
  if (failures.length > 0) process.exitCode = 1
}
