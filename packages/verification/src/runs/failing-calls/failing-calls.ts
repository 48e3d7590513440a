import { defineRun } from '../../harness/define-run.ts'
import type { Random } from '../../harness/random.ts'
import { whyNoStrace } from '../../harness/strace.ts'
import { type Stage, Stages, stages } from './stages.ts'
import { type Fault, faultText } from './traced-app.ts'

/** The number of faults in a slice, and the first writes and syncs of the host to choose from. */
const SLICE = 2
const FIRST_CALLS = 60

interface Point extends Fault {
  readonly stage: Stage
}

/**
 * Fails every call of every stage, once and for good, in random order by the seed, until the
 * minutes are over.
 */
export const failingCalls = defineRun({
  promise:
    'After a failed write, fsync, open or rename, a command or a host continues, or ends with a reason. Acknowledged writes are there, refused ones are not.',
  needed: ['calls failed'],
  whyNot: whyNoStrace,
  async round(round) {
    const all = new Stages(round)
    await all.prepare()
    const points = round.isSlice ? slice(round.random) : await pointsOf(all, round.random)
    for (const [index, { stage, ...fault }] of points.entries()) {
      if (round.isSlice ? round.figures.of('faults tried') === SLICE : round.isOver) break
      const { calls, end, failures } = await all.try(stage, fault)
      // In another thread, or on another path through the code, nothing or something else failed.
      if (calls.length === 0 || !calls.every((call) => call.includes('/application'))) continue
      round.count('faults tried')
      round.count('calls failed', calls.length)
      round.count('ended with a reason', Number(end !== 0))
      round.fail(...failures.map((text) => `${stage}, ${faultText(fault)} (${calls[0]}): ${text}`))
      round.log(`${index + 1} of ${points.length}: ${stage}, ${faultText(fault)}: ended with ${end}`)
    }
  },
})

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
