import t from 'tap'
import { defineRun, onBothEngines, type RunDescription } from '../../src/harness/define-run.ts'
import type { Round } from '../../src/harness/round.ts'

const once = {
  ...{ seed: 7, minutes: 0, rounds: 1, signal: new AbortController().signal, onProgress: () => {} },
  postgres: async () => 'postgres://nobody:x@127.0.0.1:1/none',
}

const run = (round: RunDescription['round'], more: Partial<RunDescription> = {}) =>
  defineRun({ promise: 'It holds.', round, ...more })

const writes = (round: Round) => round.count('writes', 3)

t.test('0 minutes is one round with the given seed, and a slice', async (t) => {
  const seen: unknown[] = []
  const result = await run(async (round) => {
    seen.push([round.seed, round.isSlice, round.isOver])
    writes(round)
  }).run(once)
  t.same(seen, [[7, true, true]])
  t.same(result, { figures: { rounds: 1, writes: 3 }, failures: [] })
})

t.test('rounds add up, and the first that fails ends the run and names its seed', async (t) => {
  const result = await run(async (round) => {
    writes(round)
    round.figures.largest('slowest', round.seed)
    if (round.seed === 9) round.fail('one is lost')
  }).run({ ...once, minutes: 1 })
  t.same(result, { figures: { rounds: 3, writes: 9, slowest: 9 }, failures: ['seed 9: one is lost'] })
})

t.test('a round without any attempt has failed', async (t) => {
  const { failures } = await run(async (round) => writes(round), { needed: ['writes', 'kills'] }).run(once)
  t.same(failures, ['seed 7: the run has counted no kills'])
})

t.test('a signal ends the run after its round', async (t) => {
  const stop = new AbortController()
  const stopping = run(async () => {
    stop.abort()
  })
  const { figures } = await stopping.run({ ...once, minutes: 60, signal: stop.signal })
  t.same(figures, { rounds: 1 })
})

t.test('a machine that cannot run it says why, before a round or in one', async (t) => {
  const before = run(async () => void t.fail('it has run'), { whyNot: () => 'no strace' })
  t.equal((await before.run(once)).skipped, 'no strace')
  const inside = run(async (round) => {
    round.skipped = 'no mounts'
  })
  t.same(await inside.run(once), { figures: {}, failures: [], skipped: 'no mounts' })
})

t.test('what a round has begun ends with it in the opposite order, also if it throws', async (t) => {
  const ended: string[] = []
  const failing = run(async (round) => {
    for (const name of ['first', 'second']) round.teardown(() => ended.push(name))
    throw new Error('it broke')
  })
  await t.rejects(failing.run(once), /it broke/)
  t.same(ended, ['second', 'first'])
})

const url = process.env.APP_TEST_DATABASE_URL ?? ''

t.test('on both engines figures add up, and failures name the engine', { skip: url === '' }, async (t) => {
  const both = run(
    async (round) => {
      writes(round)
      if (round.database !== undefined) round.fail('one is lost')
    },
    { engines: onBothEngines },
  )
  const { figures, failures } = await both.run({ ...once, postgres: async () => url })
  t.same(figures, { rounds: 1, writes: 6 })
  t.same(failures, ['seed 7: postgres: one is lost'])
})
