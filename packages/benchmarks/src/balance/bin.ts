import { parseArgs } from 'node:util'
import { countsOf, fail } from '../command-line.ts'
import { hasNginx } from './nginx.ts'
import { runBalance } from './run-balance.ts'

const usage = `Usage: npm run balance -w packages/benchmarks -- [--hosts 3] [--clients 64] [--rounds 3] [--seed N]

Several hosts on one PostgreSQL behind nginx: clients fill carts, some of them the same ones, and buy, while a module is
installed, upgraded, switched off and on and removed on every host. No request may fail, and at the end carts and
purchases are exactly those that were acknowledged. Ctrl+C ends it early, with the summary. On the PostgreSQL that APP_TEST_DATABASE_URL names, or on one of
its own.
`

interface Postgres {
  readonly url: string
  stop(): Promise<void>
}

async function startPostgres(): Promise<Postgres> {
  const url = process.env.APP_TEST_DATABASE_URL
  if (url !== undefined) return { url, stop: async () => {} }
  const place = new URL('../../../../host/test/storage/postgres/start-postgres.ts', import.meta.url).href
  return (await import(place)).startPostgres({ durable: false })
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      hosts: { type: 'string', default: '3' },
      clients: { type: 'string', default: '64' },
      rounds: { type: 'string', default: '3' },
      seed: { type: 'string', default: String(Date.now() % 1_000_000) },
      help: { type: 'boolean', default: false },
    },
  })
  if (values.help) return void process.stdout.write(usage)
  const { hosts, clients, rounds, seed } = countsOf(values, ['hosts', 'clients', 'rounds', 'seed'])
  if (!hasNginx()) {
    process.stdout.write(
      'Skipped: nginx is not installed. Install it, then try again: apt-get install nginx-light\n',
    )
    return
  }
  process.stdout.write(
    `seed ${seed}: ${hosts} hosts behind nginx, ${clients} clients, ${rounds} rounds of changes\n`,
  )
  const stop = new AbortController()
  for (const name of ['SIGINT', 'SIGTERM']) process.once(name, () => stop.abort())
  const postgres = await startPostgres()
  try {
    const { requests, seconds, slowest, busy, changes, purchases, failures } = await runBalance({
      database: `${postgres.url}?schema=balance_${seed}_${process.pid}`,
      ...{ hosts, clients, rounds, seed, nginx: true },
      signal: stop.signal,
      onProgress: (text) => process.stdout.write(`${text}\n`),
    })
    process.stdout.write(
      `${requests} requests in ${seconds.toFixed(0)} s, the slowest ${slowest.toFixed(0)} ms; ${purchases} purchases; ${busy} busy; ` +
        `${changes} changes\nFailures: ${failures.length}\n`,
    )
    if (failures.length > 0) process.exitCode = 1
  } finally {
    await postgres.stop()
  }
}

try {
  await main()
} catch (error) {
  fail(error, usage)
}
