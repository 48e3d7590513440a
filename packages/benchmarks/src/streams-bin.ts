import { measureIdleStreams } from './measure-idle-streams.ts'

// npm run streams -w packages/benchmarks: the cost of 1,000 idle streams, on SQLite.

process.stdout.write(
  `${JSON.stringify(await measureIdleStreams({ streams: 1000, rounds: 15, seconds: 1 }), null, 2)}\n`,
)
