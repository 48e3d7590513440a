import type { TSchema } from '@sinclair/typebox'
import type { Found, Rule } from '../world/finding.ts'
import { parametersOf } from '../world/ids.ts'
import { schemasIn } from '../world/schemas-in.ts'
import type { Route, WatchedModule } from '../world/watch-module.ts'

// What the registered module shows, before any request.

type ModuleRule = Rule<WatchedModule>

/** A rule for each route: why it is broken, or undefined. */
const forRoutes =
  (broken: (route: Route) => string | undefined): ModuleRule['find'] =>
  ({ routes }) =>
    routes.flatMap((route): Found[] => {
      const why = broken(route)
      return why === undefined ? [] : [{ where: route.where, why }]
    })

const summaries: ModuleRule = {
  code: 'no-summary',
  finds: 'a route without a summary, which has no name in /docs and in clients',
  remedy: "Write schema: { summary: 'Add a note' }.",
  find: forRoutes(({ schema }) => (schema.summary ? undefined : 'it has no summary')),
}

const requestSchemas: ModuleRule = {
  code: 'no-request-schema',
  finds: 'a route without a schema for its path parameters, or a PUT or PATCH without one for its body',
  remedy: 'Write schema: { params: IdParams, body: Strict({ … }) }.',
  find: forRoutes((route) => {
    const { method, schema } = route
    const known = Object.keys(schema.params?.properties ?? {})
    const missing = parametersOf(route).filter((name) => !known.includes(name))
    if (schema.params?.$ref === undefined && missing.length > 0)
      return `its parameter ${missing.join(', ')} has no schema`
    const takesBody = method === 'PUT' || method === 'PATCH'
    return takesBody && schema.body === undefined
      ? 'its body has no schema, so the host refuses one'
      : undefined
  }),
}

const successes = ({ schema }: Route) =>
  Object.entries(schema.response ?? {}).filter(([status]) => /^(2\d\d|2xx|default)$/i.test(status))

const responseSchemas: ModuleRule = {
  code: 'no-response-schema',
  finds: 'a route without a schema for its success: every field is sent, secrets too',
  remedy: 'Write response: { 200: Note }, with each field that may be sent.',
  find: forRoutes((route) => {
    const found = successes(route)
    if (found.length === 0) return 'it declares no success'
    const open = found.find(([, schema]) => isOpen(schema))
    return open && `the schema of its ${open[0]} lets every field through`
  }),
}

const KEYWORDS = ['type', '$ref', 'anyOf', 'oneOf', 'allOf', 'const', 'enum', 'content', 'not']

function isOpen(schema: TSchema): boolean {
  if (!KEYWORDS.some((keyword) => keyword in schema)) return true
  const { type, properties, patternProperties, additionalProperties } = schema
  const isNamed = properties !== undefined || patternProperties !== undefined
  return type === 'object' && !isNamed && typeof additionalProperties !== 'object'
}

/** Whether it, or a schema inside, sends what it does not name. */
function openIn(schema: TSchema): string | undefined {
  const open = [...schemasIn(schema)].find(
    ([one]) =>
      one.additionalProperties === true ||
      (typeof one.additionalProperties === 'object' && isOpen(one.additionalProperties)) ||
      Object.values<TSchema>(one.patternProperties ?? {}).some(isOpen) ||
      isOpen(one),
  )
  return open && (open[1] || 'its body')
}

const publicSchemas: ModuleRule = {
  code: 'open-public-schema',
  finds: 'a public route that takes or sends fields that its schema does not name',
  remedy: 'Name each field: Strict({ … }) for the body, Type.Object({ … }) for the response.',
  find: forRoutes((route) => {
    if (route.access !== 'public') return undefined
    const { body } = route.schema
    const taken = body && [...schemasIn(body)].some(([one]) => one.additionalProperties === true)
    if (taken) return 'its body takes every field (additionalProperties)'
    for (const [status, schema] of successes(route)) {
      if (isOpen(schema) || schema.content || schema.type === 'string') continue
      const open = openIn(schema)
      if (open !== undefined) return `the schema of its ${status} lets every field through at "${open}"`
    }
    return undefined
  }),
}

const MONEY = /^(amount|price|cost|fee|balance|discount|tax|cents)$|(Price|Amount|Cost|Fee|Total|Balance)$/

const isFraction = ([{ type, properties }, name]: [TSchema, string]) =>
  (MONEY.test(name) && [type].flat().includes('number')) ||
  (properties?.currency !== undefined && properties.amount?.type === 'number')

const money: ModuleRule = {
  code: 'money',
  finds: 'money as a fraction: 0.1 + 0.2 is not 0.3, and PostgreSQL and SQLite round apart',
  remedy: 'Use Money of the SDK: integer minor units and a currency; BIGINT in the table.',
  find: forRoutes(({ schema: { params, querystring, body, response = {} } }) => {
    const parts = [params, querystring, body, ...Object.values(response)]
    const fraction = parts.flatMap((part) => [...schemasIn(part)]).find(isFraction)
    return fraction && `"${fraction[1]}" is of type number`
  }),
}

const serializers: ModuleRule = {
  code: 'serializer',
  finds: 'a serializer of its own: no response schema limits which fields are sent',
  remedy: 'Declare the fields in schema.response, and convert values in the handler.',
  find: forRoutes(({ options }) =>
    options.serializerCompiler ? 'it brings a serializer compiler' : undefined,
  ),
}

const manifestDiffers: ModuleRule = {
  code: 'manifest-differs',
  finds: 'a manifest that says something else than the code',
  remedy: 'Run "app module-manifest", or add --fix.',
  find({ manifest, declared }) {
    const { id, settings } = declared ?? { id: manifest.id }
    const found: Found[] = []
    const differs = (why: string) => found.push({ where: 'package.json', why })
    if (declared === undefined) differs('its default export does not come from defineModule')
    if (id !== manifest.id) differs(`"mortise.id" is "${manifest.id}", and defineModule names "${id}"`)
    const [written, coded] = [manifest.config, settings].map((one) => one && JSON.stringify(sorted(one)))
    if (typeof manifest.config !== 'string' && written !== coded)
      differs('"mortise.config" is not the schema of the settings in defineModule')
    return found
  },
}

/** With its keys in order, and without symbols. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .sort(([one], [other]) => (one < other ? -1 : 1))
      .map(([key, inner]) => [key, sorted(inner)]),
  )
}

const providedContracts: ModuleRule = {
  code: 'not-provided',
  finds: 'a contract in "provides" that the module never provides: its users get undefined',
  remedy: 'Call contracts.provide(name, version, implementation) while the module registers, or remove it.',
  find: ({ manifest, provided }) =>
    Object.keys(manifest.provides ?? {})
      .filter((name) => !provided.has(name))
      .map((name) => ({
        where: 'package.json',
        why: `"provides" names "${name}", which it does not provide`,
      })),
}

const eventTypes: ModuleRule = {
  code: 'untyped-event',
  finds: 'an event whose data have no type: nobody can rely on them',
  remedy: 'Declare each field: Type.Object({ id: Id("note") }).',
  find: ({ events }) =>
    Object.entries(events)
      .filter(([, schema]) => isOpen(schema))
      .map(([type]) => ({ where: `event ${type}`, why: 'the schema of its data accepts anything' })),
}

export const moduleRules = [
  manifestDiffers,
  providedContracts,
  eventTypes,
  summaries,
  requestSchemas,
  responseSchemas,
  publicSchemas,
  money,
  serializers,
]
