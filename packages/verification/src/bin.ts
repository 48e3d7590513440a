import { availableParallelism } from 'node:os'
import { parseArgs } from 'node:util'
import { startPostgres } from '../../storage/test/postgres/start-postgres.ts'
import type { Outcome, RunOptions, Verification } from './harness/define-run.ts'
import { record } from './record.ts'
import type { Run } from './reliability-page.ts'
import { verifications } from './verifications.ts'

const usage = `Usage: npm run verify -- <name…|all> [--seed N] [--minutes M] [--rounds R] [--json] [--record]

Tries what the product promises. --minutes 0 (the default) is a slice of some seconds. --rounds R
continues until there are as many. The seed decides what is tried;
what a kill or a cut meets depends on the machine too. Ctrl+C ends a run after its round, with the figures.
--record keeps the figures in packages/verification/results, and writes docs/reliability.md from them.

${Object.entries(verifications)
  .map(([name, { promise }]) => `${name.padEnd(18)}${promise}`)
  .join('\n')}
`

const options = {
  seed: { type: 'string', default: String(Date.now() % 1_000_000) },
  minutes: { type: 'string', default: '0' },
  rounds: { type: 'string', default: '1' },
  json: { type: 'boolean', default: false },
  record: { type: 'boolean', default: false },
  help: { type: 'boolean', default: false },
} as const

const stop = new AbortController()
for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => stop.abort())

/** Started on first use. */
let server: ReturnType<typeof startPostgres> | undefined
async function postgres(): Promise<string> {
  const given = process.env.APP_TEST_DATABASE_URL
  if (given) return given
  server ??= startPostgres({ durable: false })
  return (await server).url
}

try {
  process.exitCode = await main()
} finally {
  await (await server)?.stop()
}

/** @returns 0 if every promise holds, 1 if one does not, 2 for wrong usage */
async function main(): Promise<number> {
  const { values, positionals } = parse()
  if (values.help) return report(usage, 0)
  const names = positionals.includes('all') ? Object.keys(verifications) : positionals
  const unknown = names.filter((name) => !Object.hasOwn(verifications, name))
  const [seed, minutes, rounds] = [values.seed, values.minutes, values.rounds].map(Number) as [
    seed: number,
    minutes: number,
    rounds: number,
  ]
  if (unknown.length > 0) return report(`Unknown: ${unknown.join(', ')}\n\n${usage}`, 2)
  if (names.length === 0 || !Number.isInteger(seed) || !(minutes >= 0) || !(rounds >= 1))
    return report(usage, 2)
  const runs: Run[] = []
  for (const name of names) {
    if (stop.signal.aborted) break
    const log = (text: string) => process.stderr.write(`${name}: ${text}\n`)
    log(`seed ${seed}, ${minutes} minutes`)
    const begun = performance.now()
    const outcome = await run(verifications[name] as Verification, { seed, minutes, rounds }, log)
    const seconds = Math.round((performance.now() - begun) / 1000)
    const machine = `${availableParallelism()} cores, Node ${process.versions.node}`
    const date = new Date().toISOString().slice(0, 10)
    const { figures, failures, skipped } = outcome
    runs.push({ name, seed, minutes, ...(rounds > 1 && { rounds }), date, machine, seconds, ...outcome })
    if (skipped !== undefined) log(`skipped: ${skipped}`)
    else
      log(
        `${
          Object.entries(figures)
            .map((each) => each.join(' '))
            .join(', ') || 'nothing'
        }: ${seconds} s`,
      )
    for (const failure of failures) log(`FAILED: ${failure}`)
  }
  if (values.record) await record(runs)
  if (values.json) process.stdout.write(`${JSON.stringify(runs, null, 2)}\n`)
  const failed = runs.filter(({ failures }) => failures.length > 0).map(({ name }) => name)
  const skipped = runs.filter(({ skipped }) => skipped !== undefined)
  process.stderr.write(
    `${runs.length - failed.length - skipped.length} hold, ${skipped.length} skipped, ${failed.length} failed\n`,
  )
  for (const name of failed)
    process.stderr.write(
      `Again: npm run verify -- ${name} --seed ${seed} --minutes ${minutes} --rounds ${rounds}\n`,
    )
  return failed.length > 0 ? 1 : 0
}

function parse() {
  try {
    return parseArgs({ options, allowPositionals: true })
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n\n`)
    return parseArgs({ args: [], options, allowPositionals: true })
  }
}

/** A run that throws counts as failed. */
async function run(
  verification: Verification,
  extent: Pick<RunOptions, 'seed' | 'minutes' | 'rounds'>,
  onProgress: (text: string) => void,
): Promise<Outcome> {
  try {
    return await verification.run({ ...extent, signal: stop.signal, onProgress, postgres })
  } catch (error) {
    return { figures: {}, failures: [(error as Error).stack ?? String(error)] }
  }
}

function report(text: string, exitCode: number): number {
  process[exitCode === 0 ? 'stdout' : 'stderr'].write(text)
  return exitCode
}
