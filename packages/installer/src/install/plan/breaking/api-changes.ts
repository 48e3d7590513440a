import type { OpenapiDocument, Operation, ProbeReport } from '@mortise/host'
import type { Manifest } from '@mortise/module-sdk/host'
import { shapeOf } from '../checks/conflicts.ts'
import type { BreakingChange } from './breaking-change.ts'
import { schemaChanges } from './schema-changes.ts'
import type { SchemaView } from './schema-view.ts'

// Uses no library: the ones for this runtime read only OpenAPI 3.0, or have no maintainer. It
// compares what an operator acts on: access, fields, types and successes.

/** The breaking changes between two versions of a module, in routes that both have. */
export function apiChanges(
  { id, routes }: Pick<Manifest, 'id' | 'routes'>,
  previous: ProbeReport,
  next: ProbeReport,
): BreakingChange[] {
  return routes.flatMap((route) => {
    const change = (code: BreakingChange['code']) => (message: string) => ({
      module: id,
      code,
      message: `${route}: ${message}.`,
    })
    const [old, now] = [operationOf(previous.document, route), operationOf(next.document, route)]
    const access = tightened(accessOf(previous, id, route), accessOf(next, id, route))
    return [
      ...access.map(change('access-tightened')),
      ...(old && now ? inputChanges(old, now).map(change('input-narrowed')) : []),
      ...(old && now ? responseChanges(old, now).map(change('response-changed')) : []),
    ]
  })
}

interface OperationView {
  readonly operation: Operation
  readonly document: OpenapiDocument
}

function operationOf(document: OpenapiDocument, route: string): OperationView | undefined {
  const [method = '', path = ''] = shapeOf(route).split(' ')
  const found = Object.entries(document.paths).find(([one]) => one.replace(/\{[^}]*\}/g, ':') === path)
  const operation = found?.[1][method.toLowerCase()]
  return operation && { operation, document }
}

function accessOf({ access }: ProbeReport, id: string, route: string): string | undefined {
  const same = Object.entries(access[id] ?? {}).find(([one]) => shapeOf(one) === shapeOf(route))
  return same?.[1]
}

/** Everyone may use `public` and `caller` routes. The scope `admin` includes every other scope. */
function tightened(old: string | undefined, now: string | undefined): string[] {
  if (old === undefined || now === undefined || old === now) return []
  if (now === 'public' || now === 'caller') return []
  return old === 'admin' ? [] : [`it requires the scope ${now} now (before: ${old})`]
}

function inputChanges(old: OperationView, now: OperationView): string[] {
  return [...parameterChanges(old, now), ...bodyChanges(old, now)]
}

function parameterChanges(old: OperationView, now: OperationView): string[] {
  // Path parameters are matched by position.
  const named = ({ operation: { parameters = [] } }: OperationView) =>
    parameters.map((parameter, index) => ({
      ...parameter,
      key: parameter.in === 'path' ? `path ${index}` : `${parameter.in} ${parameter.name}`,
      what: `the ${parameter.in} parameter "${parameter.name}"`,
    }))
  const [before, after] = [named(old), named(now)]
  const needed = after.filter(
    ({ key, required }) => required === true && !before.some((one) => one.key === key && one.required),
  )
  const kept = before.flatMap(({ key, schema, what }) => {
    const same = after.find((one) => one.key === key)
    if (same === undefined) return key.startsWith('path') ? [] : [`${what} is removed`]
    return schemaChanges(view(old, schema), view(now, same.schema), what, 'sent')
  })
  return [...needed.map(({ what }) => `${what} is required now`), ...kept]
}

function bodyChanges(old: OperationView, now: OperationView): string[] {
  const [before, after] = [old.operation.requestBody, now.operation.requestBody]
  if (before === undefined) return after?.required ? ['a body is required now'] : []
  if (after === undefined) return ['it no longer accepts a body']
  const needed = after.required && !before.required ? ['a body is required now'] : []
  const media = Object.entries(before.content).flatMap(([type, { schema }]) => {
    const same = after.content[type]
    if (same === undefined) return [`it no longer accepts ${type}`]
    return schemaChanges(view(old, schema), view(now, same.schema), 'the body', 'sent')
  })
  return [...needed, ...media]
}

/** Compares only success responses: a problem that no longer occurs breaks nothing. */
function responseChanges(old: OperationView, now: OperationView): string[] {
  const successes = Object.entries(old.operation.responses).filter(([status]) => /^[23]/.test(status))
  return successes.flatMap(([status, { content = {} }]) => {
    const same = now.operation.responses[status]
    if (same === undefined) return [`it no longer returns ${status}`]
    return Object.entries(content).flatMap(([type, { schema }]) => {
      const media = same.content?.[type]
      if (media === undefined) return [`it no longer returns ${status} as ${type}`]
      const what = `the ${status} response`
      return schemaChanges(view(old, schema), view(now, media.schema), what, 'received')
    })
  })
}

const view = ({ document }: OperationView, schema: SchemaView['schema'] | undefined): SchemaView => ({
  schema: schema ?? {},
  document,
})
