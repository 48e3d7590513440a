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

/** The problems that `before` does not have, and all of the changed setting. */
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

/** The problems of a module's settings. */
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

/** Checks the value of the setting in the file, even if a variable overrides it here. */
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
