import fc from 'fast-check'
import t from 'tap'
import { buildJson } from '../src/json.ts'

t.test('makes what was written', async (t) => {
  fc.assert(
    fc.property(fc.jsonValue({ noUnicodeString: false }), (value) => {
      fc.pre(!JSON.stringify(value).includes('"__proto__"'))
      const written = JSON.stringify(value)
      for (const text of [written, JSON.stringify(value, null, 2)]) {
        t.equal(JSON.stringify(buildJson(text)), written)
      }
    }),
    { numRuns: 500 },
  )
})

t.test('a long string, and one that looks like structure', async (t) => {
  const value = { 'a"': ['{"b":[1,2]}', '\\', '\\"', 'x"'.repeat(200_000)], '\n': { '': null } }
  t.strictSame(buildJson(JSON.stringify(value)), value)
})
