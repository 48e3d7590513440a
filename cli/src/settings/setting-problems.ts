import {
  assertHostSettings,
  ConfigError,
  checkSettings,
  moduleSettings,
  overrideFromEnvironment,
  variableOf,
} from '@mortise/host'
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
  const known = problemsOf(owner, setting, before)
  const own = setting.path.join('.')
  const wrong = problemsOf(owner, setting, after)
  const isCaused = (clause: string) =>
    !known.includes(clause) || clause.startsWith(`"${own}"`) || clause.startsWith(`"${own}.`)
  return { caused: wrong.filter(isCaused), others: wrong.filter((clause) => !isCaused(clause)) }
}

/** What is wrong with the settings of a module. */
export function moduleProblems(
  id: string,
  schema: SettingsOwner['schema'],
  json: Json,
  environment = process.env,
): readonly string[] {
  return wrongIn(() => {
    moduleSettings({ modules: (json.modules ?? {}) as never, environment }, id, schema)
  })
}

/** The setting itself is judged as it stands in the file, whatever a variable puts in its place here. */
function problemsOf({ module, schema }: SettingsOwner, { path }: Setting, json: Json): readonly string[] {
  const { [variableOf(path)]: _, ...environment } = process.env
  if (module !== undefined) return moduleProblems(module, schema, json, environment)
  if (schema === undefined) return []
  const { $schema: __, modules: ___, ...settings } = structuredClone(json) as Record<string, unknown>
  return wrongIn(() => {
    overrideFromEnvironment(settings, schema, environment)
    checkSettings(settings, schema)
    assertHostSettings(settings as never)
  })
}

function wrongIn(check: () => void): readonly string[] {
  try {
    check()
    return []
  } catch (error) {
    if (error instanceof ConfigError) return error.wrong
    throw error
  }
}
