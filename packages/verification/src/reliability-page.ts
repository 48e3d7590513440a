import type { Outcome, Verification } from './harness/define-run.ts'

/** One run, as `npm run verify -- --json` prints it and `results/` keeps it. */
export interface Run extends Outcome {
  readonly name: string
  readonly seed: number
  readonly minutes: number
  /** Absent for one. */
  readonly rounds?: number
  /** ISO 8601, a day. */
  readonly date: string
  readonly machine: string
  /** The duration, in seconds. */
  readonly seconds: number
}

const HEAD = `# Reliability

The promises of the product when disks, clocks, networks, processes and callers fail. Each section
has the promise, the command that tries it, and the figures of the last recorded run.

\`\`\`sh
npm run verify -- all                              # a slice of each: some minutes
npm run verify -- duplicates --minutes 10 --seed 7 # one of them, for longer
\`\`\`

The seed decides what a run tries; the moment of a kill or a cut depends on the machine too. A run
ends with exit code 1 if an acknowledged write is lost or done twice, a response is false, or a
limit does not hold. A run that this machine cannot try (no \`strace\`, no mounts) says so. CI runs
the slice of each.

[packages/verification](../packages/verification/README.md) describes each run. To write this page
from \`packages/verification/results\`: \`npm run verify -- NAME --minutes M --record\`.
`

/** The text of docs/reliability.md. */
export function reliabilityPage(
  verifications: Readonly<Record<string, Verification>>,
  runs: ReadonlyMap<string, Run>,
): string {
  const sections = Object.entries(verifications).map(([name, { promise }]) => {
    const run = runs.get(name)
    return `\n## ${name}\n\n${wrapped(promise)}\n\n${run === undefined ? 'No run is recorded.\n' : figuresOf(run)}`
  })
  return HEAD + sections.join('')
}

/** Wraps words in lines of at most 100 characters. */
const wrapped = (text: string) => text.replace(/(.{1,100})(?: |$)/g, '$1\n').trimEnd()

function figuresOf({ name, seed, minutes, rounds, date, machine, figures, failures }: Run): string {
  const rows = Object.entries({ ...figures, failures: failures.length }).map(
    ([figure, count]) => `| ${figure} | ${count.toLocaleString('en')} |\n`,
  )
  const command = `npm run verify -- ${name} --seed ${seed} --minutes ${minutes}${rounds === undefined ? '' : ` --rounds ${rounds}`}`
  return `${wrapped(`\`${command}\`, ${date}, ${machine}:`)}\n\n| Figure | Count |\n|---|---|\n${rows.join('')}`
}
