import { ConfigError, checkSettings, moduleSettings, overrideFromEnvironment, variableOf } from '../host.ts'
import type { Setting, SettingsOwner } from './setting.ts'

type Json = Readonly<Record<string, unknown>>

/**
 * What would be wrong with `after` that is not wrong with `before`, or is wrong with the changed setting itself.
 * Somebody who mends one of several wrong settings is not held up by the others.
 */
export function settingProblems(
  owner: SettingsOwner,
  setting: Setting,
  before: Json,
  after: Json,
): { readonly caused: readonly string[]; readonly others: readonly string[] } {
  const known = wrongIn(owner, setting, before)
  const own = setting.path.join('.')
  const wrong = wrongIn(owner, setting, after)
  const isCaused = (clause: string) =>
    !known.includes(clause) || clause.startsWith(`"${own}"`) || clause.startsWith(`"${own}.`)
  return { caused: wrong.filter(isCaused), others: wrong.filter((clause) => !isCaused(clause)) }
}

/** The setting itself is judged as it stands in the file, whatever a variable puts in its place here. */
function wrongIn({ module, schema }: SettingsOwner, { path }: Setting, json: Json): readonly string[] {
  const { [variableOf(path)]: _, ...environment } = process.env
  try {
    if (module === undefined) {
      const settings = structuredClone(json) as Record<string, unknown>
      delete settings.$schema
      delete settings.modules
      if (schema) overrideFromEnvironment(settings, schema, environment)
      if (schema) checkSettings(settings, schema)
    } else moduleSettings({ modules: (json.modules ?? {}) as never, environment }, module, schema)
    return []
  } catch (error) {
    if (error instanceof ConfigError) return error.wrong
    throw error
  }
}
