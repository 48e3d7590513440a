import { parseArgs } from 'node:util'
import { measureIdle } from './measure-idle.ts'
import { runReconnects } from './run-reconnects.ts'

const usage = `Usage: npm run streams -w packages/benchmarks -- [--reconnects 100] [--idle 1000] [--seed N] [--database postgres://…]

Follows the events of purchases by streams that come back so often at least: hosts are killed, and take up another
generation, and the clients leave by themselves, as the seed says. No event may be missing, come twice, or out of order.
One host on SQLite, or with --database three on that PostgreSQL, in a schema of their own. Then measures, on SQLite, what
idle streams cost: memory, and the requests of others, as a ratio to a host that has none. 0 leaves a part out.
`

const { values } = parseArgs({
  options: {
    reconnects: { type: 'string', default: '100' },
    idle: { type: 'string', default: '1000' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    database: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
})
const [reconnects, idle, seed] = [values.reconnects, values.idle, values.seed].map(Number) as [
  number,
  number,
  number,
]
if (values.help || ![reconnects, idle, seed].every(Number.isInteger)) {
  process.stdout.write(usage)
  process.exitCode = values.help ? 0 : 2
} else {
  const say = (text: string) => process.stdout.write(`${text}\n`)
  if (reconnects > 0) {
    const { database } = values
    say(
      `seed ${seed}: ${reconnects} reconnects, ${database ? 'three hosts on PostgreSQL' : 'one host on SQLite'}`,
    )
    const { failures, ...figures } = await runReconnects({ reconnects, seed, database, onProgress: say })
    say(JSON.stringify(figures, null, 2))
    for (const failure of failures) say(`FAILED: ${failure}`)
    if (failures.length > 0) process.exitCode = 1
  }
  if (idle > 0) say(JSON.stringify(await measureIdle({ streams: idle, rounds: 15, seconds: 1 }), null, 2))
}
