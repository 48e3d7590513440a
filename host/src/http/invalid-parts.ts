import { schemaErrors } from '@mortise/application'
import type { InvalidPart } from '@mortise/module-sdk'
import { pointerTo } from '@mortise/module-sdk/json'
import type { ErrorObject } from 'ajv'

/** A longer list would not help. */
const MAX_PARTS = 20

/** The wrong places of a request in plain words, each place once. */
export function invalidParts(errors: readonly ErrorObject[], isBody: boolean): InvalidPart[] {
  const parts = new Map<string, InvalidPart>()
  const wording = { noun: isBody ? 'field' : 'parameter', hidesPatterns: true }
  for (const { path, reason: detail } of schemaErrors(errors, wording)) {
    const pointer = pointerTo(path)
    if (parts.has(pointer)) continue
    parts.set(pointer, isBody ? { pointer, detail } : { parameter: path[0] ?? '', detail })
    if (parts.size === MAX_PARTS) break
  }
  return [...parts.values()]
}
