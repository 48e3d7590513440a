import t from 'tap'
import { deeper } from './deeper.ts'
import { finds } from './plant.ts'

for (const mistakes of deeper) {
  t.test(`${mistakes[0]?.name}, and ${mistakes.length - 1} more`, (t) => finds(t, mistakes))
}

t.test('the deeper mistakes have names of their own, and are at least 53', async (t) => {
  const names = deeper.flat().map(({ name }) => name)
  t.equal(new Set(names).size, names.length)
  t.ok(names.length >= 53)
})
