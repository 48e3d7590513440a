import { checkedSchemas, checkSchema } from '@mortise/application'
import type { InvalidPart } from '@mortise/module-sdk'
import { keepsValue } from '@mortise/module-sdk/json'
import type { TSchema } from '@sinclair/typebox'
import { Ajv, type Options, type ValidateFunction } from 'ajv'
import addFormats from 'ajv-formats'
import { CompiledSchemas } from './compiled-schemas.ts'
import { withoutFiles } from './form-schema.ts'
import { invalidParts } from './invalid-parts.ts'
import { hostProblems, invalidRequest } from './problems.ts'

/** Fastify's argument to a validator compiler: one part of a request of one route. */
export interface RoutePart {
  readonly schema: TSchema
  readonly method: string
  readonly url: string
  readonly httpPart?: string
}

const compiled = new CompiledSchemas<ValidateFunction>()

type Validate = (data: unknown) => true | { readonly error: Error }

/**
 * Up to this size, in characters of JSON, a body gets all its errors; a longer one only the first.
 */
const THOROUGH_LIMIT = 8192

const options: Options = {
  ...checkedSchemas,
  strict: true,
  strictRequired: false,
  allowUnionTypes: true,
  coerceTypes: false,
  removeAdditional: false,
  useDefaults: true,
  verbose: true,
  addUsedSchema: false,
}

/**
 * Makes Fastify's validator compiler for one scope. It coerces, drops and repairs nothing: an
 * invalid part of a request is an `invalid-request` problem that names every wrong place.
 *
 * @param shared the schemas of `addSchema` in that scope, by `$id`
 * @param lazy whether a schema is compiled for its first request
 */
export function buildValidator(
  shared: Readonly<Record<string, TSchema>>,
  lazy = false,
): (part: RoutePart) => Validate {
  const makeAjv = (allErrors: boolean) => {
    const ajv = addFormats.default(new Ajv({ ...options, allErrors }))
    ajv.addFormat('date-time', isReadable)
    for (const schema of Object.values(shared)) ajv.addSchema(schema)
    return ajv
  }
  if (!lazy) for (const schema of Object.values(shared)) checkSchema(schema)
  const once = compiled.of(shared)
  let first: Ajv | undefined
  const compile = (schema: TSchema): ValidateFunction => {
    checkSchema(schema)
    first ??= makeAjv(false)
    return first.compile(schema)
  }
  let thorough: Ajv | undefined
  return ({ schema: declared, httpPart = 'body', method, url }) => {
    const schema = httpPart === 'body' ? withoutFiles(declared) : declared
    let known: ValidateFunction | undefined
    const validator = () => {
      known ??= once(schema, () => compile(schema))
      return known
    }
    if (!lazy) validator()
    let validateAll: ValidateFunction | undefined
    const all = (data: unknown) => {
      thorough ??= makeAjv(true)
      validateAll ??= thorough.compile(schema)
      validateAll(data)
      return validateAll.errors
    }
    const refuse = (data: unknown) => {
      const isShort = JSON.stringify(data).length <= THOROUGH_LIMIT
      return invalid(
        httpPart,
        invalidParts((isShort && all(data)) || validator().errors || [], httpPart === 'body'),
      )
    }
    if (httpPart === 'body') return (data) => validator()(data) || refuse(data)

    const convert = converter(schema, `${method} ${url}`)
    if (httpPart === 'headers') {
      return (data) => {
        convert(data as Texts)
        return validator()(data) || refuse(data)
      }
    }
    if (httpPart === 'params') {
      return (data) => {
        convert(data as Texts)
        return validator()(data) || { error: hostProblems.create('not-found') }
      }
    }
    return (data) => {
      const query = data as Query
      const unreadable = query[invalidQuery]
      if (unreadable) return invalid(httpPart, unreadable)
      convert(query)
      return validator()(query) || refuse(query)
    }
  }
}

const { validate: isDateTime } = addFormats.default.get('date-time') as { validate(text: string): boolean }

/** Code reads a time by `Date`, which has no leap seconds and no offset without minutes. */
const isReadable = (text: string) => isDateTime(text) && !Number.isNaN(Date.parse(text))

/** The function that `make` makes for the first call. */
export function atFirstCall<Argument, Result>(
  make: () => (argument: Argument) => Result,
): (argument: Argument) => Result {
  let made: ((argument: Argument) => Result) | undefined
  return (argument) => {
    made ??= make()
    return made(argument)
  }
}

function invalid(httpPart: string, errors: readonly InvalidPart[]) {
  const part = { body: 'body', querystring: 'query', headers: 'head' }[httpPart]
  return { error: invalidRequest(`The ${part} of the request is invalid; see errors.`, errors) }
}

type Texts = Record<string, unknown>

const numberOf = (text: string) => (keepsValue(text) ? Number(text) : text)

/** The form of each type in a path or a query. Other text stays a string and fails validation. */
const forms: Readonly<Record<string, { form: RegExp; value: (text: string) => unknown }>> = {
  integer: { form: /^(0|[1-9]\d*)$/, value: numberOf },
  number: { form: /^-?(0|[1-9]\d*)(\.\d+)?$/, value: numberOf },
  boolean: { form: /^(true|false)$/, value: (text) => text === 'true' },
}

/** Converts the parameters that are not strings from text to values, in place. */
function converter(schema: TSchema, route: string): (parameters: Texts) => void {
  const properties = Object.entries((schema.properties ?? {}) as Record<string, TSchema>)
  const written = properties.flatMap(([name, { type }]) => {
    if (['array', 'object', 'null'].includes(type)) {
      throw new TypeError(
        `${route}: parameter "${name}" is of type ${type}, which a path, query or header cannot carry; use string, integer, number or boolean`,
      )
    }
    const rule = forms[type]
    return rule ? [{ name, ...rule }] : []
  })
  return (parameters) => {
    for (const { name, form, value } of written) {
      const text = parameters[name]
      if (typeof text === 'string' && form.test(text)) parameters[name] = value(text)
    }
  }
}

/** Key under which a parsed query stores its errors, because the parser cannot throw. */
export const invalidQuery = Symbol('invalid query')

export interface Query {
  [parameter: string]: unknown
  [invalidQuery]?: InvalidPart[]
}

/** Parses a query (`+` is a space). Repeated and undecodable parameters go under `invalidQuery`. */
export function parseQuery(text: string): Query {
  const query: Query = Object.create(null)
  if (text === '') return query
  for (const pair of text.split('&')) {
    if (pair === '') continue
    const equals = pair.indexOf('=')
    const rawName = equals === -1 ? pair : pair.slice(0, equals)
    const name = decode(rawName)
    const value = equals === -1 ? '' : decode(pair.slice(equals + 1))
    if (name === undefined || value === undefined)
      note(query, rawName, 'must be percent-encoded UTF-8 without NUL')
    else if (name in query) note(query, name, 'must be given once')
    else query[name] = value
  }
  return query
}

function note(query: Query, parameter: string, detail: string): void {
  query[invalidQuery] ??= []
  query[invalidQuery].push({ parameter, detail })
}

function decode(text: string): string | undefined {
  try {
    const decoded = decodeURIComponent(text.replaceAll('+', ' '))
    return decoded.includes('\0') ? undefined : decoded
  } catch {
    return undefined
  }
}
