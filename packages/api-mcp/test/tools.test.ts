import t from 'tap'
import type { Document } from '../src/document.ts'
import { toolsOf } from '../src/tools.ts'

const settings = { include: [], exclude: [], readOnly: false, origins: [], authorizationServers: [] }

type Schemas = Record<string, object>
const documentOf = (paths: Record<string, object>, schemas: Schemas = {}) =>
  ({ info: {}, servers: [], paths, components: { schemas } }) as unknown as Document
const get = (operationId: string, schema: object = { type: 'object' }, more: object = {}) => ({
  get: {
    ...{ operationId, tags: ['shop'], security: [] },
    responses: { 200: { content: { 'application/json': { schema } } } },
    ...more,
  },
})

t.test('every route has a name of its own, which every client takes', (t) => {
  const long = `getReport${'ByYear'.repeat(12)}`
  const document = documentOf({
    '/a': get(`${long}One`),
    '/b': get(`${long}Two`),
    '/c': get('getReport'),
    '/d': get('same'),
    '/e': get('same'),
    '/f': get('das größte Geschäft'),
    '/g': get('a'.repeat(64)),
  })
  const names = toolsOf(document, settings).map(({ tool }) => tool.name)
  t.equal(new Set(names).size, 7)
  for (const name of names) t.match(name, /^[\w-]{1,64}$/)
  t.ok(names.includes('getReport') && names.includes('a'.repeat(64)), 'a name that fits stays')
  const again = toolsOf(documentOf({ '/b': get(`${long}Two`) }), settings)
  t.ok(names.includes(again[0]?.tool.name as string), 'whatever else is installed')
  t.end()
})

t.test('a module keeps a route from assistants', (t) => {
  const document = documentOf({ '/a': get('one', {}, { 'x-tool': false }), '/b': get('two') })
  const names = (include: string[]) =>
    toolsOf(document, { ...settings, include }).map(({ tool }) => tool.name)
  t.same(names([]), ['two'])
  t.same(names(['shop', 'GET /a']), ['two'], 'the operator cannot offer it')
  t.end()
})

t.test('references are followed, as far as that ends', (t) => {
  const ref = (name: string) => ({ $ref: `#/components/schemas/${name}` })
  const schemas: Schemas = {
    Tree: {
      type: 'object',
      properties: { child: ref('Tree'), $ref: { type: 'string' }, description: { type: 'number' } },
    },
    Nullable: { type: 'object', properties: { tree: { anyOf: [ref('Tree'), { type: 'null' }] } } },
    Data: {
      type: 'object',
      properties: { kind: { enum: ['#/components/schemas/Tree'] }, required: { type: 'null' } },
    },
  }
  // Each refers twice to the next: all of them together are 2^40 schemas.
  for (let index = 0; index < 40; index += 1)
    schemas[`Bomb${index}`] = {
      type: 'object',
      properties: { a: ref(`Bomb${index + 1}`), b: ref(`Bomb${index + 1}`) },
    }
  schemas.Bomb40 = { type: 'object' }
  const body = (name: string) => ({ requestBody: { content: { 'application/json': { schema: ref(name) } } } })
  const paths = Object.fromEntries(
    ['Nullable', 'Data', 'Bomb0'].map((name) => [`/${name}`, get(name, ref(name), body(name))]),
  )
  const tools = toolsOf(documentOf(paths, schemas), settings)
  const text = JSON.stringify(tools.map(({ tool }) => tool))
  t.ok(text.length < 60_000, `${text.length}`)
  t.notMatch(text, /\$defs|"\$ref":"/)
  const [nullable, data] = tools.map(({ tool }) => tool)
  const tree = {
    type: 'object',
    properties: { child: {}, $ref: { type: 'string' }, description: { type: 'number' } },
  }
  t.same(nullable?.inputSchema.properties?.body, {
    type: 'object',
    properties: { tree: { anyOf: [tree, { type: 'null' }] } },
  })
  t.match(data?.outputSchema, {
    properties: { kind: { enum: ['#/components/schemas/Tree'] }, required: { type: 'null' } },
  })
  t.end()
})
