import type { TSchema } from '@sinclair/typebox'
import { Ajv, type Options, type ValidateFunction } from 'ajv'
import { invalidParts } from './invalid-parts.ts'
import { hostProblems } from './problems.ts'
import { invalidQuery, type Query } from './query-string.ts'

/** What Fastify hands a validator compiler: one part of a request of one route. */
export interface RoutePart {
  readonly schema: TSchema
  readonly method: string
  readonly url: string
  readonly httpPart?: string
}

type Validate = (data: unknown) => true | { readonly error: Error }

/** Up to here, in characters of JSON, every error of a body is looked for; of a longer one the first. */
const THOROUGH_LIMIT = 8192

const options: Options = {
  strict: true,
  strictRequired: false,
  allowUnionTypes: true,
  coerceTypes: false,
  removeAdditional: false,
  useDefaults: true,
  verbose: true,
  addUsedSchema: false,
  formats: {
    'date-time': (text: string) =>
      /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/.test(text) &&
      !Number.isNaN(Date.parse(text)),
    date: (text: string) => /^\d{4}-\d\d-\d\d$/.test(text) && isDate(text),
    uuid: /^[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}$/i,
  },
}

/**
 * Makes Fastify's validator compiler for one scope. Nothing is coerced, dropped or mended: a wrong part of a
 * request is an `invalid-request` problem that names every wrong place of it.
 *
 * @param shared the schemas of `addSchema` in that scope, by `$id`
 */
export function buildValidator(shared: Readonly<Record<string, TSchema>>): (part: RoutePart) => Validate {
  const first = new Ajv(options)
  const thorough = new Ajv({ ...options, allErrors: true })
  for (const schema of Object.values(shared)) {
    first.addSchema(schema)
    thorough.addSchema(schema)
  }
  return ({ schema, httpPart = 'body', method, url }) => {
    const validate = first.compile(schema)
    let validateAll: ValidateFunction | undefined
    const all = (data: unknown) => {
      validateAll ??= thorough.compile(schema)
      validateAll(data)
      return validateAll.errors
    }
    const refuse = (data: unknown) => {
      const isShort = JSON.stringify(data).length <= THOROUGH_LIMIT
      return invalid(
        httpPart,
        invalidParts((isShort && all(data)) || validate.errors || [], httpPart === 'body'),
      )
    }
    if (httpPart === 'params') {
      return (data) =>
        validate(data) || { error: hostProblems.create('not-found', 'No resource has this path.') }
    }
    if (httpPart !== 'querystring') return (data) => validate(data) || refuse(data)

    const convert = converter(schema, `${method} ${url}`)
    return (data) => {
      const query = data as Query
      const unreadable = query[invalidQuery]
      if (unreadable) return invalid(httpPart, unreadable)
      convert(query)
      return validate(query) || refuse(query)
    }
  }
}

function invalid(httpPart: string, errors: readonly unknown[]) {
  const part = { body: 'body', querystring: 'query', headers: 'head' }[httpPart]
  const error = hostProblems.create('invalid-request', `The ${part} of the request is invalid; see errors.`, {
    members: { errors },
  })
  return { error }
}

/** Turns the texts of integers and booleans into values; a text of another form stays, and fails validation. */
function converter(schema: TSchema, route: string): (query: Query) => void {
  const properties = Object.entries((schema.properties ?? {}) as Record<string, TSchema>)
  for (const [name, { type }] of properties) {
    if (['number', 'array', 'object', 'null'].includes(type)) {
      throw new TypeError(
        `${route}: query parameter "${name}" is of type ${type}, which has no form in a query; use integer, boolean or string`,
      )
    }
  }
  const integers = properties.filter(([, { type }]) => type === 'integer').map(([name]) => name)
  const booleans = properties.filter(([, { type }]) => type === 'boolean').map(([name]) => name)
  return (query) => {
    for (const name of integers) {
      const text = query[name]
      if (typeof text === 'string' && /^(0|[1-9]\d*)$/.test(text)) query[name] = Number(text)
    }
    for (const name of booleans) {
      const text = query[name]
      if (text === 'true' || text === 'false') query[name] = text === 'true'
    }
  }
}

function isDate(text: string): boolean {
  const time = Date.parse(text)
  return !Number.isNaN(time) && new Date(time).toISOString().startsWith(text)
}
