import { inTemporaryFolder } from '@mortise/host'
import { Random } from '../../harness/random.ts'
import { outcome, skipped } from '../../harness/repeat.ts'
import type { Outcome, RunOptions, Verification } from '../../harness/verification.ts'
import { hasStrace } from '../kill/trace.ts'
import { type Stage, Stages, stages } from './stages.ts'
import { type Fault, faultText } from './traced-app.ts'

/** The number of faults in a slice, and the first writes and syncs of the host to choose from. */
const SLICE = 2
const FIRST_CALLS = 60

export const failingCalls: Verification = {
  promise:
    'After a failed write, fsync, open or rename, a command or a host continues, or ends with a reason. Acknowledged writes are there, refused ones are not.',
  async run(options) {
    if (!hasStrace()) return skipped('strace is missing: apt-get install strace')
    return await inTemporaryFolder(undefined, (folder) => tryAll(new Stages(folder), options))
  },
}

interface Point extends Fault {
  readonly stage: Stage
}

/**
 * Fails every call of every stage, once and for good, in random order by the seed, until the
 * minutes are over.
 */
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
    // In another thread, or on another path through the code, nothing or something else failed.
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

/** More points than faults, because some points meet no call. */
const slice = (random: Random): Point[] =>
  Array.from({ length: 10 * SLICE }, () => ({
    stage: 'start',
    call: random.chance(0.5) ? 'fsync' : 'pwrite64',
    number: random.between(1, FIRST_CALLS),
    error: random.chance(0.5) ? 'EIO' : 'ENOSPC',
    lasting: random.chance(0.5),
  }))

/**
 * Orders the points so that each call of each stage is equally frequent, until it has no more
 * points.
 */
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
