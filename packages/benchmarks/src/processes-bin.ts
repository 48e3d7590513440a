import { availableParallelism } from 'node:os'
import { measureProcesses } from './measure-processes.ts'

const [postgres] = process.argv.slice(2)
if (postgres === undefined) {
  process.stderr.write('Usage: npm run processes -w packages/benchmarks -- URL of a PostgreSQL server\n')
  process.exitCode = 2
} else {
  const gains = await measureProcesses({ postgres, rounds: 7, seconds: 1.2 })
  process.stdout.write(
    `--workers 2 ÷ --workers 1, ${availableParallelism()} cores with the server and the callers:\n`,
  )
  for (const { scenario, throughput } of gains) {
    const [median, least, most] = [throughput.median, throughput.least, throughput.most].map((ratio) =>
      ratio.toFixed(2),
    )
    process.stdout.write(`${scenario}: ${median} (${least}–${most})\n`)
  }
}
