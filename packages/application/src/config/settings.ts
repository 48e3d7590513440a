import { readJson } from '@mortise/module-sdk'
import type { TSchema } from '@sinclair/typebox'
import { Validators } from './built-validators.ts'
import { checkedSchemas } from './check-schema.ts'
import { nearest } from './closest-names.ts'
import { type SchemaError, schemaErrors } from './schema-errors.ts'
import { formatTests, settingFormats } from './setting-formats.ts'

/** Text by name, like process.env. */
export type Environment = Readonly<Record<string, string | undefined>>

/** An invalid setting; the message names its key and the reason. */
export class ConfigError extends Error {
  override readonly name: string = 'ConfigError'
  /** One clause for each error; each begins with its key in quotes if there is one. */
  readonly wrong: readonly string[]

  constructor(message: string, wrong: readonly string[] = [message], options?: ErrorOptions) {
    super(message, options)
    this.wrong = wrong
  }
}

/**
 * Overrides settings from the environment, in place: `server.maxConnections` by
 * APP_SERVER_MAX_CONNECTIONS. Strings are taken as they are, everything else is JSON.
 *
 * @param path the place of `target` in app.config.json
 * @returns the used variables
 */
export function overrideFromEnvironment(
  target: Record<string, unknown>,
  schema: TSchema,
  environment: Environment,
  path: readonly string[] = [],
): string[] {
  return Object.entries((schema.properties ?? {}) as Record<string, TSchema>).flatMap(([key, property]) => {
    const own = [...path, key]
    if (property.properties) {
      const nested = { ...(target[key] as Record<string, unknown> | undefined) }
      const used = overrideFromEnvironment(nested, property, environment, own)
      if (used.length > 0) target[key] = nested
      return used
    }
    const variable = variableOf(own)
    const text = environment[variable]
    if (text === undefined) return []
    target[key] = property.type === 'string' ? text : parsed(text)
    return [variable]
  })
}

/** The environment variable that overrides the setting at `path`. */
export function variableOf(path: readonly string[]): string {
  const snake = path.map((part) => part.replace(/([a-z0-9])([A-Z])/g, '$1_$2').replaceAll('-', '_'))
  return `APP_${snake.join('_')}`.toUpperCase()
}

export interface SettingsOrigin {
  /** The place of `target` in app.config.json. */
  readonly path?: readonly string[]
  /** The variables that overrode settings in it. */
  readonly variables?: readonly string[]
  /** The file with all other settings. */
  readonly file?: string
}

/** @throws {ConfigError} that names every wrong key and its variable or file */
export function checkSettings(
  target: Record<string, unknown>,
  schema: TSchema,
  { path = [], variables = [], file }: SettingsOrigin = {},
): void {
  const validate = validators.of(schema)
  if (validate(target)) return
  const ofVariables = new Set<string>()
  const ofFile = new Set<string>()
  for (const error of schemaErrors(validate.errors, { noun: 'setting', formats: settingFormats })) {
    const key = [...path, ...error.path]
    const variable = variables.find((name) =>
      key.some((_, end) => variableOf(key.slice(0, end + 1)) === name),
    )
    const reason = reasonOf(error)
    if (variable) ofVariables.add(`${variable} ("${key.join('.')}") ${reason}`)
    else ofFile.add(`"${key.join('.')}" ${reason}`)
  }
  const rest = [...ofFile].join('; ')
  const wrong = [...ofVariables, ...(rest && [file ? `${file}: ${rest}` : rest])]
  throw new ConfigError(wrong.join('; '), [...ofVariables, ...ofFile])
}

export const settingsOptions = {
  ...checkedSchemas,
  allErrors: true,
  useDefaults: true,
  strict: false,
  verbose: true,
  formats: formatTests,
} as const

const validators = new Validators(settingsOptions)

/** The reason, with the closest known names for an unknown one. */
function reasonOf({ path, reason, known }: SchemaError): string {
  const [near] = known === undefined ? [] : nearest(path.at(-1) as string, known)
  return near === undefined ? reason : `${reason}: did you mean "${near}"?`
}

function parsed(text: string): unknown {
  try {
    return readJson(text)
  } catch {
    return text
  }
}
