import { Value } from '@sinclair/typebox/value'
import t from 'tap'
import { Quantity } from '../src/schemas.ts'

t.test('a quantity is an integer from 1 to 9999', async (t) => {
  for (const quantity of [1, 9999]) t.ok(Value.Check(Quantity, quantity))
  for (const quantity of [0, -1, 10_000, 1.5, '1', null]) t.notOk(Value.Check(Quantity, quantity))
})
