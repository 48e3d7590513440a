import t from 'tap'
import { newId, timestamp } from '../src/index.ts'

const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz'

/** The UUID of a TypeID, as hexadecimal digits. */
function uuidOf(id: string): string {
  const [, text = ''] = /_([0-7][0-9a-hjkmnp-tv-z]{25})$/.exec(id) ?? []
  const bits = [...text].reduce((sum, character) => sum * 32n + BigInt(ALPHABET.indexOf(character)), 0n)
  return bits.toString(16).padStart(32, '0')
}

t.test('an id is a TypeID of a UUIDv7', async (t) => {
  const before = Date.now()
  for (let round = 0; round < 1000; round++) {
    const id = newId('cart_item')
    t.match(id, /^cart_item_[0-7][0-9a-hjkmnp-tv-z]{25}$/)
    const uuid = uuidOf(id)
    t.match(uuid, /^[\da-f]{12}7[\da-f]{3}[89ab][\da-f]{15}$/, 'version 7, variant 2')
    const made = Number.parseInt(uuid.slice(0, 12), 16)
    // Of one process they ascend, also if the clock is set back: then the time stays.
    t.ok(made >= before - 1 && made <= Date.now() + 10_000)
  }
})

t.test('ids of one process ascend, and none comes twice', async (t) => {
  const ids = Array.from({ length: 100_000 }, () => newId('x'))
  t.strictSame(ids, ids.toSorted())
  t.equal(new Set(ids).size, ids.length)
})

t.test('every random bit takes both values', async (t) => {
  const seen = [0n, 0n]
  for (let round = 0; round < 200; round++) {
    const bits = BigInt(`0x${uuidOf(newId('x'))}`)
    seen[0] = (seen[0] as bigint) | ~bits
    seen[1] = (seen[1] as bigint) | bits
  }
  const random = (1n << 50n) - 1n
  t.equal((seen[0] as bigint) & random, random)
  t.equal((seen[1] as bigint) & random, random)
})

t.test('a prefix is of letters', async (t) => {
  for (const prefix of ['', '_a', 'a_', 'A', 'a1', 'a-b', 'a'.repeat(64)])
    t.throws(() => newId(prefix), { name: 'TypeError' })
  t.doesNotThrow(() => newId('a'.repeat(63)))
})

t.test('a timestamp is that of Date', async (t) => {
  const times = [
    0, 1, -1, 999, 86_399_999, 86_400_000, 951_782_400_000, 1_795_442_077_363, 253_402_300_800_000,
  ]
  for (const time of [...times, ...times.toReversed(), 1.9, -1.9, -62_198_755_200_001]) {
    t.equal(timestamp(time), new Date(time).toISOString())
  }
  for (const time of [Number.NaN, Number.POSITIVE_INFINITY, 8.64e15 + 86_400_000]) {
    t.throws(() => timestamp(time), { name: 'RangeError' })
  }
  t.equal(timestamp(null), null)
})
