import { parseArgs } from 'node:util'
import { countsOf, fail, UsageError } from './command-line.ts'
import { measureConsole } from './measure-console.ts'
import { measureDay } from './measure-day.ts'
import { measureEventCost } from './measure-event-cost.ts'
import { measureProcesses } from './measure-processes.ts'
import { measureSlowDisk } from './measure-slow-disk.ts'

const usage = `Usage: npm run RUN -w packages/benchmarks [-- PLACE] [-- --rows 1000000]

Prints the figures of a run as JSON: ratios with their median, least and most.
slow-disk  how long reads wait while each fsync takes 10 ms more, by strace; PLACE: another checkout to measure too
day        the longest holds of the event loop by the work of a day on --rows purchases and events
console    what each request of the console takes, with --rows purchases, events and audit records
events     the cost of an event for the write that emits it; PLACE: the URL of a PostgreSQL server
processes  --workers 2 ÷ --workers 1; PLACE: the URL of a PostgreSQL server
`
const onProgress = (text: string) => process.stderr.write(`${text} …\n`)

try {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { rows: { type: 'string', default: '1000000' } },
  })
  const [run, place] = positionals
  const { rows } = countsOf(values, ['rows'])
  const runs: Record<string, () => Promise<unknown>> = {
    'slow-disk': () => measureSlowDisk({ rounds: 7, seconds: 3, delay: 10, before: place, onProgress }),
    day: () => measureDay({ rows, due: Math.ceil(rows / 300), onProgress }),
    console: () => measureConsole({ rows, onProgress }),
    events: () => measureEventCost({ rounds: 9, seconds: 1, database: place }),
    processes() {
      if (place === undefined) throw new UsageError('processes needs the URL of a PostgreSQL server')
      return measureProcesses({ postgres: place, rounds: 7, seconds: 1.2 })
    },
  }
  const measure = runs[run ?? '']
  if (measure === undefined) throw new UsageError(`There is no run "${run ?? ''}"`)
  process.stdout.write(`${JSON.stringify(await measure(), null, 2)}\n`)
} catch (error) {
  fail(error, usage)
}
