import { measureEventCost } from './measure-event-cost.ts'

// npm run events -w packages/benchmarks [-- URL of a PostgreSQL server]: the cost of an event for
// the write that emits it.

const [database] = process.argv.slice(2)
process.stdout.write(
  `${JSON.stringify(await measureEventCost({ rounds: 9, seconds: 1, database }), null, 2)}\n`,
)
