import { parseArgs } from 'node:util'
import { countsOf, fail } from '../command-line.ts'
import { formatSoak } from './format-soak.ts'
import { runSoak } from './run-soak.ts'

const usage = `Usage: npm run soak:switch -w packages/benchmarks -- [--steps 200] [--clients 32] [--seed N]

Changes a running host with the real command, at random, while clients ask a module that stays: no request may
fail, no write be lost, and the memory grows by the code of new packages alone. The same seed makes the same steps.
Ctrl+C ends it after the step that is under way, with the summary.
`

try {
  const { values } = parseArgs({
    options: {
      steps: { type: 'string', default: '200' },
      clients: { type: 'string', default: '32' },
      seed: { type: 'string', default: String(Date.now() % 1_000_000) },
      help: { type: 'boolean', default: false },
    },
  })
  if (values.help) process.stdout.write(usage)
  else {
    const { steps, clients, seed } = countsOf(values, ['steps', 'clients', 'seed'])
    process.stdout.write(`seed ${seed}: ${steps} steps, ${clients} clients\n`)
    const stop = new AbortController()
    process.once('SIGINT', () => stop.abort())
    const report = await runSoak({
      signal: stop.signal,
      steps,
      clients,
      seed,
      onProgress: (text) => process.stdout.write(`${text}\n`),
    })
    process.stdout.write(`${formatSoak(report)}\n`)
    if (report.failures.length > 0) {
      process.stdout.write(
        `Again: npm run soak:switch -w packages/benchmarks -- --steps ${steps} --clients ${clients} --seed ${seed}\n`,
      )
      process.exitCode = 1
    }
  }
} catch (error) {
  fail(error, usage)
}
