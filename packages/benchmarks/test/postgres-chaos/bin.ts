import { parseArgs } from 'node:util'
import { countsOf, fail, UsageError } from '../../src/command-line.ts'
import { type ChaosReport, kinds, runChaos } from './run-chaos.ts'

const usage = `Usage: npm run postgres-chaos -w packages/benchmarks -- [--rounds 100] [--clients 16] [--seed N]

Takes PostgreSQL away from two hosts while callers write: it is killed and started again, or killed and its synchronous
standby promoted, by turns. Nothing that was acknowledged may be lost or done twice, the hosts say that they are not
ready and answer 503 meanwhile, and write again by themselves within 5 s. The same seed makes the same rounds.
`

try {
  const { values } = parseArgs({
    options: {
      rounds: { type: 'string', default: '100' },
      clients: { type: 'string', default: '16' },
      seed: { type: 'string', default: String(Date.now() % 1_000_000) },
      help: { type: 'boolean', default: false },
    },
  })
  if (values.help) process.stdout.write(usage)
  else {
    const { rounds, clients, seed } = countsOf(values, ['rounds', 'clients', 'seed'])
    if (clients < 2) throw new UsageError('--clients 1: there are two hosts, so write a number from 2')
    process.stdout.write(`seed ${seed}: ${rounds} rounds, ${clients} clients\n`)
    const onProgress = (text: string) => process.stdout.write(`${text}\n`)
    const report = await runChaos({ rounds, clients, seed, onProgress })
    process.stdout.write(formatChaos(report))
    if (report.failures.length > 0) {
      process.stdout.write(
        `Again: npm run postgres-chaos -w packages/benchmarks -- --rounds ${rounds} --clients ${clients} --seed ${seed}\n`,
      )
      process.exitCode = 1
    }
  }
} catch (error) {
  fail(error, usage)
}

function formatChaos(report: ChaosReport): string {
  const { acknowledged, refused, unknown, unknownDone, recovery, failures } = report
  const lines = kinds.map((kind) => {
    const sorted = recovery[kind].toSorted((one, other) => one - other)
    return `${kind}: ${sorted.length} rounds, written again after ${sorted[Math.floor(sorted.length / 2)]} ms (median), ${sorted.at(-1)} ms (most)`
  })
  return `${[
    ...lines,
    `Writes: ${acknowledged} acknowledged, ${refused} refused, ${unknown} of unknown outcome, ${unknownDone} of these done`,
    `Failures: ${failures.length}`,
  ].join('\n')}\n`
}
