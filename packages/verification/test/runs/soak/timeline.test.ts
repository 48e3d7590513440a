import t from 'tap'
import { type Allowed, Timeline } from '../../../src/runs/soak/timeline.ts'

const only = (...states: string[]): ReadonlyMap<string, Allowed> =>
  new Map([['note', (state) => states.includes(state)]])

function timeline() {
  const contradictions: string[] = []
  return { contradictions, timeline: new Timeline(only('old'), (text) => contradictions.push(text)) }
}

t.test('during a change the old and new state are valid, afterwards only the new one', async (t) => {
  const { timeline: seen, contradictions } = timeline()
  const early = seen.epoch
  seen.saw(early, 'note', 'old')
  seen.change()
  const during = seen.epoch
  seen.saw(early, 'note', 'new')
  seen.saw(during, 'note', 'old')
  seen.settle(only('old', 'new'), only('new'))
  seen.saw(during, 'note', 'old')
  seen.saw(seen.epoch, 'note', 'new')
  t.same(contradictions, [])
  seen.saw(seen.epoch, 'note', 'old')
  t.match(contradictions, [/^note was seen as "old"/])
})

t.test('errors of a schema change are reported after it', async (t) => {
  const { timeline: seen, contradictions } = timeline()
  seen.change()
  seen.saw(seen.epoch, 'note', 'refused version')
  t.same(contradictions, [])
  seen.settle(only('old'), only('old'))
  t.match(contradictions, [/"refused version"/])
})
