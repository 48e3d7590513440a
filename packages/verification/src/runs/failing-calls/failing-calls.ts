import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Random } from '../../harness/random.ts'
import { outcome } from '../../harness/repeat.ts'
import type { Outcome, RunOptions, Verification } from '../../harness/verification.ts'
import { hasStrace } from '../kill/trace.ts'
import { type Stage, Stages, stages } from './stages.ts'
import { type Fault, faultText } from './traced-app.ts'

/** How many faults a slice tries, and among how many of the host's first writes and syncs. */
const SLICE = 2
const FIRST_CALLS = 60

export const failingCalls: Verification = {
  promise:
    'After a failed write, fsync, open or rename, a command or a host continues, or ends with a reason. Acknowledged writes are there, refused ones are not.',
  async run(options) {
    if (!hasStrace())
      return { figures: {}, failures: [], skipped: 'strace is missing: apt-get install strace' }
    const folder = await mkdtemp(join(tmpdir(), 'mortise-failing-calls-'))
    try {
      return await tryAll(new Stages(folder), options)
    } finally {
      await rm(folder, { recursive: true, force: true })
    }
  },
}

interface Point extends Fault {
  readonly stage: Stage
}

/** Every call of every stage, once and for good, in an order that the seed decides, until the minutes are over. */
async function tryAll(all: Stages, { seed, minutes, signal, onProgress }: RunOptions): Promise<Outcome> {
  const end = performance.now() + minutes * 60_000
  const random = new Random(seed)
  await all.prepare()
  const points = minutes > 0 ? await pointsOf(all, random) : slice(random)
  const figures = {
    'faults tried': 0,
    'calls failed': 0,
    'ended with a reason': 0,
    'writes acknowledged': 0,
    'writes with unknown outcome': 0,
  }
  const failures: string[] = []
  for (const [index, { stage, ...fault }] of points.entries()) {
    const isOver = minutes > 0 ? performance.now() >= end : figures['faults tried'] >= SLICE
    if (isOver || signal.aborted) break
    const tried = await all.try(stage, fault)
    // Another thread, or a run that took another way, had nothing or something else fail.
    if (tried.calls.length === 0 || !tried.calls.every((call) => call.includes('/application'))) continue
    figures['faults tried'] += 1
    figures['calls failed'] += tried.calls.length
    figures['ended with a reason'] += Number(tried.end !== 0)
    figures['writes acknowledged'] += tried.acknowledged
    figures['writes with unknown outcome'] += tried.unknown
    for (const failure of tried.failures)
      failures.push(`${stage}, ${faultText(fault)} (${tried.calls[0]}): ${failure}`)
    onProgress(`${index + 1} of ${points.length}: ${stage}, ${faultText(fault)}: ended with ${tried.end}`)
  }
  return outcome(figures, failures, ['calls failed'])
}

/** More than are tried: some meet nothing. */
const slice = (random: Random): Point[] =>
  Array.from({ length: 10 * SLICE }, () => ({
    stage: 'start',
    call: random.chance(0.5) ? 'fsync' : 'pwrite64',
    number: random.between(1, FIRST_CALLS),
    error: random.chance(0.5) ? 'EIO' : 'ENOSPC',
    lasting: random.chance(0.5),
  }))

/** In an order in which each call of each stage is as frequent, until there are no more of it. */
async function pointsOf(all: Stages, random: Random): Promise<Point[]> {
  const points: { readonly point: Point; readonly at: number }[] = []
  for (const stage of stages) {
    for (const places of Map.groupBy(await all.places(stage), ({ call }) => call).values()) {
      for (const place of places) {
        for (const error of ['EIO', 'ENOSPC'] as const) {
          for (const lasting of [false, true])
            points.push({ point: { stage, ...place, error, lasting }, at: random.next() * places.length })
        }
      }
    }
  }
  return points.sort((a, b) => a.at - b.at).map(({ point }) => point)
}
