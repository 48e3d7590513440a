import type { InvalidPart } from '@mortise/module-sdk'
import type { ErrorObject } from 'ajv'
import { describeSchema } from '../config/describe-schema.ts'

/** More help nobody. */
const MAX_PARTS = 20

/** The wrong places of a request in plain words, each place once. */
export function invalidParts(errors: readonly ErrorObject[], isBody: boolean): InvalidPart[] {
  const unions = errors.filter(({ keyword }) => keyword === 'anyOf' || keyword === 'oneOf')
  const parts = new Map<string, InvalidPart>()
  for (const error of errors) {
    // What each branch of a union lacks says less than the union itself.
    if (unions.some((union) => error !== union && error.schemaPath.startsWith(`${union.schemaPath}/`)))
      continue
    const pointer = pointerOf(error)
    if (parts.has(pointer)) continue
    const detail = detailOf(error, isBody)
    parts.set(pointer, isBody ? { pointer, detail } : { parameter: nameOf(pointer), detail })
    if (parts.size === MAX_PARTS) break
  }
  return [...parts.values()]
}

function pointerOf({ instancePath, keyword, params }: ErrorObject): string {
  const property =
    keyword === 'required'
      ? params.missingProperty
      : keyword === 'additionalProperties'
        ? params.additionalProperty
        : undefined
  if (property === undefined) return instancePath
  return `${instancePath}/${property.toWellFormed().replaceAll('~', '~0').replaceAll('/', '~1')}`
}

/** A parameter's name is the first segment of its pointer. */
function nameOf(pointer: string): string {
  return (pointer.split('/')[1] ?? '').replaceAll('~1', '/').replaceAll('~0', '~')
}

function detailOf({ keyword, params, parentSchema = {}, message }: ErrorObject, isBody: boolean): string {
  switch (keyword) {
    case 'required':
      return 'is required'
    case 'additionalProperties':
      return isBody ? 'is no known field' : 'is no known parameter'
    case 'pattern': {
      const meaning = parentSchema.description
      return meaning ? `must be ${meaning}` : `must match the pattern ${params.pattern}`
    }
    case 'uniqueItems':
      return 'must not hold the same item twice'
    case 'type':
    case 'enum':
    case 'const':
    case 'anyOf':
    case 'oneOf':
    case 'format':
    case 'minimum':
    case 'maximum':
    case 'exclusiveMinimum':
    case 'exclusiveMaximum':
    case 'minLength':
    case 'maxLength':
    case 'minItems':
    case 'maxItems':
      return `must be ${describeSchema(parentSchema)}`
    default:
      return message ?? 'is wrong'
  }
}
