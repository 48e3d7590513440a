import type { JsonSchema, ProbeReport } from '@mortise/host'
import { Type } from '@sinclair/typebox'
import t from 'tap'
import { apiChanges } from '../../../../src/install/plan/breaking/api-changes.ts'

interface Served {
  readonly access?: string
  readonly parameters?: readonly object[]
  readonly body?: JsonSchema
  readonly bodyRequired?: boolean
  readonly responses?: Readonly<Record<string, JsonSchema>>
  readonly schemas?: Readonly<Record<string, JsonSchema>>
  readonly path?: string
}

/** What a probe reports of a module with one route. */
function report({ path = '/note/{id}', ...served }: Served): ProbeReport {
  const content = (schema: JsonSchema) => ({ content: { 'application/json': { schema } } })
  const operation = {
    tags: ['note'],
    security: [],
    parameters: served.parameters ?? [],
    ...(served.body && { requestBody: { required: served.bodyRequired ?? true, ...content(served.body) } }),
    responses: Object.fromEntries(
      Object.entries(served.responses ?? { 200: {} }).map(([status, schema]) => [status, content(schema)]),
    ),
  }
  const route = `POST ${path.replace(/\{(\w+)\}/g, ':$1')}`
  return {
    document: { paths: { [path]: { post: operation } }, components: { schemas: { ...served.schemas } } },
    access: { note: { [route]: (served.access ?? 'caller') as 'caller' } },
  } as unknown as ProbeReport
}

const changes = (previous: Served, next: Served) =>
  apiChanges({ id: 'note', routes: ['POST /note/:id'] }, report(previous), report(next)).map(
    ({ code, message }) => `${code} ${message.replace('POST /note/:id: ', '')}`,
  )

const body = (schema: unknown): Served => ({ body: schema as JsonSchema })
const response = (schema: unknown): Served => ({ responses: { 200: schema as JsonSchema } })
const query = (...parameters: object[]): Served => ({
  parameters: parameters.map((parameter) => ({ in: 'query', schema: { type: 'string' }, ...parameter })),
})
const text = Type.Object({ text: Type.String() })
const choice = (...values: string[]) =>
  Type.Object({ choice: Type.Union(values.map((one) => Type.Literal(one))) })

const breaks: Readonly<Record<string, [previous: Served, next: Served, says: RegExp]>> = {
  'a scope is needed': [
    {},
    { access: 'note:write' },
    /^access-tightened it requires the scope note:write now \(before: caller/,
  ],
  'another scope is needed': [{ access: 'note:write' }, { access: 'admin' }, /^access-tightened .*admin now/],
  'a parameter is needed': [
    query({ name: 'q', required: false }),
    query({ name: 'q', required: true }),
    /^input-narrowed the query parameter "q" is required now/,
  ],
  'a new parameter is needed': [{}, query({ name: 'q', required: true }), /"q" is required/],
  'a parameter goes': [query({ name: 'q' }), {}, /"q" is removed/],
  'a parameter has another type': [
    query({ name: 'q', schema: { type: 'number' } }),
    query({ name: 'q', schema: { type: 'integer' } }),
    /"q" can no longer be number/,
  ],
  'a body is needed': [{}, body(text), /a body is required now/],
  'a body was optional': [{ ...body(text), bodyRequired: false }, body(text), /a body is required now/],
  'no body is taken': [body(text), {}, /no longer accepts a body/],
  'a field is needed': [
    body(Type.Object({ text: Type.Optional(Type.String()) })),
    body(text),
    /the body requires "text" now/,
  ],
  'a field goes': [
    body({ ...text, additionalProperties: false }),
    body(Type.Object({}, { additionalProperties: false })),
    /the body no longer accepts "text"/,
  ],
  'a type changes': [
    body(text),
    body(Type.Object({ text: Type.Integer() })),
    /"text" of the body can no longer be string/,
  ],
  'null goes': [
    body({ type: ['string', 'null'] }),
    body({ type: 'string' }),
    /the body can no longer be null/,
  ],
  'anything was taken': [body({}), body({ type: 'string' }), /must be string now/],
  'an item has another type': [
    body(Type.Array(Type.String())),
    body(Type.Array(Type.Integer())),
    /each item of the body can no longer be string/,
  ],
  'what a reference leads to has another type': [
    { ...body({ $ref: '#/components/schemas/Text' }), schemas: { Text: { type: 'string' } } },
    { ...body({ $ref: '#/components/schemas/Text' }), schemas: { Text: { type: 'array' } } },
    /the body can no longer be string/,
  ],
  'one of several conditions is new': [
    body({ allOf: [text] }),
    body({ allOf: [text, { required: ['more'] }] }),
    /requires "more"/,
  ],
  'an alternative goes': [
    body(Type.Union([Type.String(), Type.Object({ a: Type.String() })])),
    body(Type.String()),
    /the body can no longer be object/,
  ],
  'a response goes': [
    { responses: { 200: {}, 201: {} } },
    { responses: { 200: {} } },
    /^response-changed it no longer returns 201/,
  ],
  'a field of a response goes': [
    response(text),
    response(Type.Object({})),
    /the 200 response no longer has "text"/,
  ],
  'a field of a response may be null': [
    response(text),
    response({ ...text, properties: { text: { anyOf: [{ type: 'string' }, { type: 'null' }] } } }),
    /"text" of the 200 response may be null now/,
  ],
  'a field deep in a response goes': [
    response(Type.Object({ data: Type.Array(text) })),
    response(Type.Object({ data: Type.Array(Type.Object({})) })),
    /each item of "data" of the 200 response no longer has "text"/,
  ],
}

for (const [what, [previous, next, says]] of Object.entries(breaks)) {
  t.test(`${what}: reported once, and not in the other direction`, async (t) => {
    const reported = changes(previous, next)
    t.match(reported, [says])
    t.equal(reported.length, 1)
    t.notMatch(changes(next, previous).join(), says)
    t.strictSame(changes(previous, previous), [])
  })
}

const fine: Readonly<Record<string, [previous: Served, next: Served]>> = {
  'access is opened': [{ access: 'note:write' }, { access: 'caller' }],
  'an admin has the scope': [{ access: 'admin' }, { access: 'note:write' }],
  'everybody is a caller': [{ access: 'public' }, { access: 'caller' }],
  'a needed field has a default': [
    body(Type.Object({})),
    body(Type.Object({ size: Type.Integer({ default: 1 }) })),
  ],
  'integers become numbers': [body(Type.Integer()), body(Type.Number())],
  'a listed number becomes any integer': [body({ const: 1 }), body({ type: 'integer' })],
  'a listed value becomes any': [body(choice('a')), body(Type.Object({ choice: Type.String() }))],
  'limits, values and patterns of what is sent change': [
    body(Type.Object({ text: Type.String({ enum: ['a', 'b'] }), size: Type.Integer({ maximum: 9 }) })),
    body(
      Type.Object({ text: Type.String({ enum: ['a'], pattern: 'a' }), size: Type.Integer({ maximum: 1 }) }),
    ),
  ],
  'a field of a response may be missing': [
    response(text),
    response(Type.Object({ text: Type.Optional(Type.String()) })),
  ],
  'a response has a field more': [
    response(text),
    response(Type.Object({ ...text.properties, more: Type.String() })),
  ],
  'an enum of a response grows': [response({ enum: ['a'] }), response({ enum: ['a', 'b'] })],
  'a problem goes': [{ responses: { 200: {}, 409: {} } }, { responses: { 200: {} } }],
  'a path parameter is renamed': [{}, { path: '/note/{key}' }],
}

for (const [what, [previous, next]] of Object.entries(fine)) {
  t.test(`${what}: nothing breaks`, async (t) => {
    t.strictSame(changes(previous, next), [])
  })
}

t.test('a recursive schema terminates', async (t) => {
  const schemas = (type: string) => ({
    Tree: {
      type: 'object',
      properties: {
        name: { type },
        children: { type: 'array', items: { $ref: '#/components/schemas/Tree' } },
      },
    },
  })
  const tree = { $ref: '#/components/schemas/Tree' }
  const reported = changes(
    { ...body(tree), ...response(tree), schemas: schemas('string') },
    { ...body(tree), ...response(tree), schemas: schemas('integer') },
  )
  t.match(reported[0], /"name" of the body can no longer be string/)
})
