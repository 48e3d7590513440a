import { setTimeout } from 'node:timers/promises'
import { type Test, test } from 'tap'
import { ClockWatch } from '../src/clock.ts'
import { Loop, type LoopOptions } from '../src/loop.ts'
import { DatabaseError } from '../src/transaction.ts'

/** A loop with its log, as level, text and what it is about. */
function loopOf(t: Test, options: Pick<LoopOptions, 'step'> & Partial<LoopOptions>) {
  const logged: [string, string, object][] = []
  const write = (level: string) => (about: { err: Error; job?: string }, text: string) =>
    void logged.push([level, text, { error: about.err.message, ...(about.job && { job: about.job }) }])
  const log = { warn: write('warn'), debug: write('debug') } as never
  const loop = new Loop({ log, trouble: 'it cannot run', pause: 1, patience: 1, ...options })
  // The loop alone keeps no process alive.
  const alive = setInterval(() => {}, 1_000)
  t.teardown(() => loop.stop().then(() => clearInterval(alive)))
  return { loop, logged }
}

test('it is idle when a step finds nothing and no task runs', async (t) => {
  let work = 3
  let done = 0
  const { loop } = loopOf(t, {
    async step() {
      if (work === 0) return { ms: 60_000 }
      work -= 1
      loop.start(async () => {
        await setTimeout(1)
        done += 1
        // The end of a task makes more work.
        if (done === 3) work = 1
      })
      return { ms: 0 }
    },
  })
  loop.begin()
  await loop.idle()
  t.equal(done, 4)
  work = 1
  loop.wake()
  await loop.idle()
  t.equal(done, 5)
})

test('trouble is logged once until a step succeeds, and what others log is not a warning', async (t) => {
  const errors = [
    new Error('one'),
    new Error('two'),
    undefined,
    new DatabaseError('unavailable', 'three'),
    new Error('four'),
  ]
  const { loop, logged } = loopOf(t, {
    async step() {
      if (errors.length === 0) return { ms: 60_000 }
      const error = errors.shift()
      if (error !== undefined) throw error
      return { ms: 0 }
    },
  })
  loop.begin()
  await loop.idle()
  loop.start(() => Promise.reject(new Error('five')), { job: 'job_a' })
  await loop.idle()
  const text = 'it cannot run; the host tries again'
  t.strictSame(logged, [
    ['warn', text, { error: 'one' }],
    ['debug', text, { error: 'two' }],
    ['debug', text, { error: 'three' }],
    ['warn', text, { error: 'four' }],
    ['warn', text, { error: 'five', job: 'job_a' }],
  ])
})

test('a loop that stops waits for its tasks, then aborts them', async (t) => {
  let reason: unknown
  const { loop } = loopOf(t, { step: async () => ({ ms: 60_000 }) })
  loop.begin()
  loop.start(async (signal) => {
    await setTimeout(60_000, undefined, { signal }).catch(() => {})
    reason = signal.reason
  })
  await loop.stop()
  t.match(reason, { message: 'the module stops serving' })
  await loop.idle()
})

test('a clock that goes back is corrected, once it can be', async (t) => {
  const clock = new ClockWatch()
  const times: [number, boolean][] = [
    [500, true], // At first it cannot know.
    [1_000, false],
    [7_200_000, false],
    [7_199_500, false],
    [0, true],
    [0, false],
  ]
  for (const [now, wentBack] of times) t.equal(await clock.watch(now, async () => {}), wentBack, `${now}`)
  const fail = () => Promise.reject(new Error('no database'))
  await t.rejects(clock.watch(-7_200_000, fail), /no database/)
  t.equal(await clock.watch(-7_200_000, async () => {}), true)
  t.equal(await clock.watch(-7_200_000, async () => {}), false)
})
