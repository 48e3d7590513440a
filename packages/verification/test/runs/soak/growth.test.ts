import t from 'tap'
import { growth } from '../../../src/runs/soak/growth.ts'

const sample = {
  step: 20,
  packages: 10,
  heap: 40e6,
  instances: 2,
  handles: 5,
  listeners: 9,
  emitters: 90,
  descriptors: 60,
}

t.test('growth is reported, apart from the code of new packages', async (t) => {
  const later = { ...sample, step: 200, packages: 110 }
  t.same(growth(sample, later), [])
  t.same(growth(sample, { ...later, heap: 53e6, descriptors: 64 }), [])
  t.match(growth(sample, { ...later, heap: 55e6 }), [/^heap went from 40000000 at step 20/])
  t.match(growth(sample, { ...later, instances: 3, handles: 6, listeners: 10, descriptors: 65 }), {
    length: 4,
    0: /^instances went from 2 .* to 3/,
  })
})
