import t from 'tap'
import { LIMITS, StreamCounts } from '../../../src/events/streams/stream-counts.ts'

t.test('places are counted by caller and address, and some are left for users', (t) => {
  const counts = new StreamCounts()
  const limits = { ...LIMITS, streams: 50, streamsPerAddress: 5, streamsPerCaller: 3 }
  const take = (owner: Parameters<StreamCounts['take']>[0]) => {
    const place = counts.take(owner, limits)
    return typeof place === 'function' ? place : place.code
  }
  const nobody = (address: string) => ({ id: undefined, isGuest: true, address })
  const guest = (id: string, address: string) => ({ id, isGuest: true, address })
  const user = (id: string, address: string) => ({ id, isGuest: false, address })

  const places = [1, 2, 3, 4, 5].map(() => take(nobody('192.0.2.1')))
  t.ok(
    places.every((place) => typeof place === 'function'),
    'nobody has no limit of its own',
  )
  t.equal(take(nobody('192.0.2.1')), 'too-many-streams-per-address')
  ;(places[0] as () => void)()
  t.type(take(nobody('192.0.2.1')), 'function', 'a place that was given back')
  t.type(take(user('ann', '192.0.2.1')), 'function', 'guests do not count against users')
  for (let index = 0; index < 3; index += 1) take(guest('g', '192.0.2.2'))
  t.equal(take(guest('g', '192.0.2.2')), 'too-many-streams')

  for (let index = 0; typeof take(nobody(`198.51.100.${index}`)) === 'function'; index += 1);
  t.equal(take(nobody('203.0.113.1')), 'guest-streams-exhausted')
  for (let index = 0; typeof take(user(`user ${index}`, `203.0.113.${index}`)) === 'function'; index += 1);
  t.equal(take(user('bob', '203.0.113.99')), 'streams-exhausted')
  t.end()
})
