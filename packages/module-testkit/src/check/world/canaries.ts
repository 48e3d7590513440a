import type { TSchema } from '@sinclair/typebox'
import { isValid } from './generate.ts'

const SECRET =
  /(secret|password|passwd|passphrase|credentials?|(api|access|private|signing|auth)_?key|token)$/i

/** In the value that a check gives to a secret. */
export const CANARY = 'canary-of-the-check'

export interface Setting {
  readonly path: readonly string[]
  readonly schema: TSchema
}

/** Its settings that are texts. */
export function* textsIn(schema: TSchema | undefined, path: readonly string[] = []): Generator<Setting> {
  for (const [name, inner] of Object.entries<TSchema>(schema?.properties ?? {})) {
    if (inner.type === 'string') yield { path: [...path, name], schema: inner }
    else yield* textsIn(inner, [...path, name])
  }
}

export const isSecret = ({ path, schema }: Setting) =>
  schema.writeOnly === true || (SECRET.test(path.at(-1) ?? '') && schema.format === undefined && !schema.enum)

/**
 * Puts a text that is known again into each secret that has no default and takes it. One that needs
 * other settings, such as those of an optional object, stays away.
 */
export function withCanaries(
  settings: Record<string, unknown>,
  schema: TSchema | undefined,
): Record<string, unknown> {
  let all = structuredClone(settings)
  for (const setting of textsIn(schema)) {
    const value = `${CANARY}-${setting.path.join('-')}`
    if (!isSecret(setting) || 'default' in setting.schema || !isValid(setting.schema, value)) continue
    const next = structuredClone(all)
    let inner = next
    for (const name of setting.path.slice(0, -1)) {
      inner[name] ??= {}
      inner = inner[name] as Record<string, unknown>
    }
    inner[setting.path.at(-1) as string] = value
    const [first = ''] = setting.path
    if (first in all || isValid(schema?.properties?.[first], next[first])) all = next
  }
  return all
}
