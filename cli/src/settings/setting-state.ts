import { type PendingSetting, variableOf } from '@mortise/host'
import { type ConfigText, valueAt } from '../application/config-text.ts'
import { parseValue } from './parse-value.ts'
import { type Setting, shown } from './setting.ts'

/** A setting as a command would read it here; null stands for no value. */
export interface SettingState {
  readonly key: string
  readonly value: unknown
  readonly source: 'app.config.json' | 'environment' | 'default' | 'none'
  readonly default: unknown
  /** The environment variable that overrides the file. */
  readonly variable: string
  readonly description: string | null
  /** The value that the running host uses, if it differs: until a restart, or by `option`. */
  readonly inForce?: unknown
  /** The option of `app start` that overrides the setting: `--port`. */
  readonly option?: string
}

export function settingState(
  { key, path, schema }: Setting,
  { json }: ConfigText,
  pending: readonly PendingSetting[] = [],
): SettingState {
  const waits = pending.find((setting) => setting.key === key && path[0] !== 'modules')
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
    ...(waits && { inForce: waits.inForce ?? null }),
    ...(waits?.option && { option: waits.option }),
  }
}
