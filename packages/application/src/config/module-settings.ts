import type { TSchema } from '@sinclair/typebox'
import { ConfigError, checkSettings, type Environment, overrideFromEnvironment } from './settings.ts'

/** Where the settings of modules come from. */
export interface SettingsSources {
  readonly modules: Readonly<Record<string, Readonly<Record<string, unknown>>>>
  readonly environment: Environment
}

/**
 * The settings of a module with overrides from APP_MODULES_<ID>_…. Its schema is evaluated here: see
 * `settingFaults` for one that nobody has agreed to.
 * @throws {ConfigError} that names the wrong key
 */
export function moduleSettings(
  config: SettingsSources,
  id: string,
  schema: TSchema | undefined,
): Record<string, unknown> {
  const settings = structuredClone((Object.hasOwn(config.modules, id) && config.modules[id]) || {})
  if (schema === undefined) {
    if (Object.keys(settings).length === 0) return settings
    throw new ConfigError(`"modules.${id}" has settings, but ${id} has no settings: remove them`)
  }
  const path = ['modules', id]
  const variables = overrideFromEnvironment(settings, schema, config.environment, path)
  checkSettings(settings, schema, { path, variables })
  return settings
}
