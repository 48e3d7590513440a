import { Type } from '@sinclair/typebox'
import t from 'tap'
import { describeSchema } from '../../src/config/describe-schema.ts'

t.test('says what a schema asks for', async (t) => {
  for (const [schema, words] of [
    [Type.Integer({ minimum: 1, maximum: 9999 }), 'an integer from 1 to 9999'],
    [Type.Integer({ minimum: 1 }), 'an integer of at least 1'],
    [Type.Number({ exclusiveMinimum: 0, maximum: 1 }), 'a number above 0 and of at most 1'],
    [Type.Integer(), 'an integer'],
    [Type.String({ minLength: 1, maxLength: 128 }), 'a string of 1 to 128 characters'],
    [Type.String({ minLength: 1 }), 'a string of at least 1 character'],
    [Type.String({ maxLength: 255 }), 'a string of at most 255 characters'],
    [Type.String({ format: 'date-time' }), 'a string of the form date-time'],
    [Type.Array(Type.Null(), { minItems: 1, maxItems: 200 }), 'an array of 1 to 200 items'],
    [Type.Boolean(), 'true or false'],
    [Type.Literal('a'), '"a"'],
    [Type.Union([Type.Literal('a'), Type.Literal('b'), Type.Literal('c')]), '"a", "b" or "c"'],
    [Type.Union([Type.String(), Type.Null()]), 'a string or null'],
    [Type.Unsafe({ type: ['integer', 'null'], minimum: 1 }), 'an integer of at least 1 or null'],
    [Type.Unsafe({ enum: [1, 2] }), '1 or 2'],
    [Type.Object({}), 'an object'],
    [Type.Unknown(), 'as in the documentation'],
  ] as const) {
    t.equal(describeSchema({ ...schema }), words)
  }
})
