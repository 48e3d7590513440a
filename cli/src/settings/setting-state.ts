import { variableOf } from '../host.ts'
import { type ConfigText, valueAt } from './config-text.ts'
import { parseValue } from './parse-value.ts'
import { type Setting, shown } from './setting.ts'

/** A setting as a command that runs here would read it; null stands for nothing. */
export interface SettingState {
  readonly key: string
  readonly value: unknown
  readonly source: 'app.config.json' | 'environment' | 'default' | 'none'
  readonly default: unknown
  /** The environment variable that wins over the file. */
  readonly variable: string
  readonly description: string | null
}

export function settingState({ key, path, schema }: Setting, { json }: ConfigText): SettingState {
  const variable = variableOf(path)
  const text = process.env[variable]
  const written = valueAt(json, path)
  const [value, source] =
    text !== undefined
      ? [parseValue(text, schema)[0], 'environment' as const]
      : written !== undefined
        ? [written, 'app.config.json' as const]
        : [schema.default, schema.default === undefined ? ('none' as const) : ('default' as const)]
  const visible = (what: unknown) => shown(what, schema) ?? null
  return {
    key,
    value: visible(value),
    source,
    default: visible(schema.default),
    variable,
    description: schema.description ?? null,
  }
}
