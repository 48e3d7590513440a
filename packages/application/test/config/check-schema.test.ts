import t from 'tap'
import { checkSchema } from '../../src/config/check-schema.ts'
import { compileSchema } from '../../src/config/first-error.ts'

t.test('a schema that is too deep is refused by that name', async (t) => {
  let deep: object = { type: 'string' }
  for (let level = 0; level < 20_000; level += 1) deep = { type: 'array', items: deep }
  t.throws(() => checkSchema(deep), { message: 'the schema has more than 100 levels' })
})

t.test('a property that every object has is refused', async (t) => {
  for (const name of ['constructor', 'toString', '__proto__', 'valueOf']) {
    const properties = JSON.parse(`{ "${name}": { "type": "string" } }`)
    const schema = { type: 'object', properties: { inner: { type: 'object', properties } } }
    t.throws(() => checkSchema(schema), { message: `the schema has a property "${name}"` }, name)
  }
  t.doesNotThrow(() => checkSchema({ type: 'object', properties: { type: { type: 'string' } } }))
})

t.test('the compiler prints nothing of a schema', async (t) => {
  const said = (['log', 'warn', 'error'] as const).map((name) => t.capture(console, name))
  compileSchema({ type: 'object', properties: { a: { type: 'string', format: '\u001b[2Jgone' } } })
  t.same(
    said.flatMap((calls) => calls()),
    [],
  )
})
