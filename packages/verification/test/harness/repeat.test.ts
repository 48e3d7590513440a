import t from 'tap'
import { outcome, repeat } from '../../src/harness/repeat.ts'

const once = { seed: 7, minutes: 0, rounds: 1, signal: new AbortController().signal, onProgress: () => {} }

t.test('0 minutes is one round with the given seed', async (t) => {
  const seeds: number[] = []
  const result = await repeat(once, async (seed) => {
    seeds.push(seed)
    return outcome({ writes: 3 }, [])
  })
  t.same(seeds, [7])
  t.same(result, { figures: { rounds: 1, writes: 3 }, failures: [] })
})

t.test('rounds add up, and the first that fails ends the run and names its seed', async (t) => {
  const result = await repeat({ ...once, minutes: 1 }, async (seed) =>
    outcome({ writes: 3 }, seed === 9 ? ['one is lost'] : []),
  )
  t.same(result, { figures: { rounds: 3, writes: 9 }, failures: ['seed 9: one is lost'] })
})

t.test('a round without any attempt has failed', async (t) => {
  const { failures } = outcome({ writes: 3, kills: 0 }, [], ['writes', 'kills'])
  t.same(failures, ['the run has counted no kills'])
})

t.test('a signal ends the run after its round', async (t) => {
  const stop = new AbortController()
  const { figures } = await repeat({ ...once, minutes: 60, signal: stop.signal }, async () => {
    stop.abort()
    return outcome({}, [])
  })
  t.same(figures, { rounds: 1 })
})
