import t from 'tap'
import { alone, elsewhere, together } from './mistakes.ts'
import { finds } from './plant.ts'

for (const [index, mistakes] of together.entries()) {
  t.test(`mistakes of module ${index + 1}`, (t) => finds(t, mistakes))
}

t.test('the mistakes have names of their own, and are at least sixty', async (t) => {
  const names = [...alone, ...together.flat()].map(({ name }) => name).concat(Object.keys(elsewhere))
  t.equal(new Set(names).size, names.length)
  t.ok(alone.length + together.flat().length >= 60)
})
