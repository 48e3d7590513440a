import { type TSchema, Type } from '@sinclair/typebox'
import t from 'tap'
import { checkSchema } from '../../src/config/check-schema.ts'
import { firstError } from '../../src/config/first-error.ts'
import { clauseOf } from '../../src/config/schema-errors.ts'

const Line = Type.Object(
  {
    'a/b': Type.Optional(Type.Integer({ minimum: 1 })),
    kind: Type.Optional(Type.Union([Type.Literal('x'), Type.Literal('y')])),
    tags: Type.Optional(
      Type.Array(Type.String({ pattern: '^t', description: 'a tag' }), { uniqueItems: true }),
    ),
    version: Type.Literal(1, { description: 'there is no other yet' }),
  },
  { additionalProperties: false },
)

t.test('a schema violation is described with its path', async (t) => {
  for (const [schema, value, clause] of [
    [Line, [], 'it must be an object'],
    [Line, {}, '"version" is required'],
    [Line, { version: 1, colour: '' }, '"colour" is not a known field'],
    [Line, { version: 2 }, '"version" must be 1: there is no other yet'],
    [Line, { version: 1, 'a/b': 0 }, '"a/b" must be an integer of at least 1'],
    [Line, { version: 1, kind: 'z' }, '"kind" must be "x" or "y"'],
    [Line, { version: 1, tags: ['t', 'u'] }, '"tags.1" must match the pattern ^t (a tag)'],
    [Line, { version: 1, tags: ['t', 't'] }, '"tags" must not contain the same item twice'],
    [Type.String({ format: 'date' }), 'some day', 'it must be a string of the form date'],
    [Type.Object({}, { minProperties: 1 }), {}, 'it must have at least 1 field'],
  ] as const) {
    const wrong = firstError(schema as TSchema, value)
    t.equal(wrong && clauseOf(wrong), clause)
  }
  t.equal(firstError(Line, { version: 1, tags: ['t'] }), undefined)
})

t.test('a clause begins with the path of the value', async (t) => {
  t.equal(clauseOf({ path: ['a', '0'], reason: 'is required' }, ['x']), '"x.a.0" is required')
  t.equal(clauseOf({ path: [], reason: 'is required' }, ['x']), '"x" is required')
})

t.test('an invalid schema is refused, with its location', async (t) => {
  checkSchema(Line)
  t.throws(
    () => checkSchema({ properties: { a: { type: 'text' } } }),
    /the schema is invalid: "properties.a.type" /,
  )
})
