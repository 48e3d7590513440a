import type { ErrorObject } from 'ajv'
import { describeSchema } from './describe-schema.ts'

export interface SchemaError {
  /** The names and positions that lead to it. */
  readonly path: readonly string[]
  /** What is wrong, to follow its name. */
  readonly reason: string
  /** For an unknown name: the names that the schema knows there. */
  readonly known?: readonly string[]
}

export interface Wording {
  /** The word for a property: `field` by default. */
  readonly noun?: string
  /** Replaces patterns by their descriptions: callers of an API cannot read regular expressions. */
  readonly hidesPatterns?: boolean
  /** The reason for strings with a wrong format, by the format's name. */
  readonly formats?: Readonly<Record<string, { readonly reason: string }>>
}

/** The violations of a schema, in words. The validator must be `verbose`. */
export function schemaErrors(
  errors: readonly ErrorObject[] | null | undefined,
  wording: Wording = {},
): SchemaError[] {
  const all = errors ?? []
  const unions = all.filter(({ keyword }) => keyword === 'anyOf' || keyword === 'oneOf')
  return (
    all
      // The union itself says more than the errors of its branches.
      .filter(({ schemaPath }) => unions.every((union) => !schemaPath.startsWith(`${union.schemaPath}/`)))
      // What is wrong with the name says more.
      .filter(({ keyword }) => keyword !== 'propertyNames')
      .map((error) => ({ path: pathOf(error), ...reasonOf(error, wording) }))
  )
}

function pathOf({ instancePath, keyword, params, propertyName }: ErrorObject): string[] {
  const path = instancePath.split('/').slice(1)
  const names = path.map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
  if (keyword === 'additionalProperties') names.push(params.additionalProperty)
  if (keyword === 'required') names.push(params.missingProperty)
  if (propertyName !== undefined) names.push(propertyName)
  return names
}

/** Keywords whose violation the description of the schema explains. */
const described = /^(enum|anyOf|oneOf|(min|max)(imum|Length|Items)|exclusiveM(in|ax)imum)$/

function reasonOf({ propertyName, ...error }: ErrorObject, wording: Wording): Omit<SchemaError, 'path'> {
  if (propertyName !== undefined)
    return { reason: `is not a name here: it ${reasonOf(error, wording).reason}` }
  const { keyword, params, parentSchema = {}, message } = error
  const { noun = 'field', formats = {}, hidesPatterns = false } = wording
  const meaning: string | undefined = parentSchema.description
  switch (keyword) {
    case 'not':
      return { reason: `must not be ${describeSchema(parentSchema.not)}` }
    case 'required':
      return { reason: 'is required' }
    case 'additionalProperties':
      return { reason: `is not a known ${noun}`, known: Object.keys(parentSchema.properties ?? {}) }
    case 'const':
      return { reason: `must be ${describeSchema(parentSchema)}${meaning ? `: ${meaning}` : ''}` }
    case 'pattern':
      if (hidesPatterns && meaning) return { reason: `must be ${meaning}` }
      return { reason: `must match the pattern ${params.pattern}${meaning ? ` (${meaning})` : ''}` }
    case 'minProperties':
      return { reason: `must have at least ${params.limit} ${noun}${params.limit === 1 ? '' : 's'}` }
    case 'maxProperties':
      return { reason: `must have at most ${params.limit} ${noun}${params.limit === 1 ? '' : 's'}` }
    case 'uniqueItems':
      return { reason: 'must not contain the same item twice' }
    case 'format':
    case 'type':
      return { reason: formats[parentSchema.format]?.reason ?? `must be ${describeSchema(parentSchema)}` }
    default:
      return {
        reason: described.test(keyword) ? `must be ${describeSchema(parentSchema)}` : (message ?? 'is wrong'),
      }
  }
}

/** One error as a clause: `"server.port" must be an integer`. */
export function clauseOf({ path, reason }: SchemaError, below: readonly string[] = []): string {
  const key = [...below, ...path].join('.')
  return key === '' ? `it ${reason}` : `"${key}" ${reason}`
}
