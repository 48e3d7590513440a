import { variableOf } from '@mortise/application'
import { type ConfigText, valueAt } from '@mortise/application/folder'
import { callRunningHost, type PendingSetting } from '@mortise/host'
import { readJson } from '@mortise/module-sdk'
import { hostSettings } from './find-settings.ts'
import { type Schema, type Setting, shown } from './setting.ts'

/** A setting as a command would read it here; null stands for no value. */
export interface SettingState {
  readonly key: string
  readonly value: unknown
  readonly source: 'app.config.json' | 'environment' | 'default' | 'none'
  readonly default: unknown
  /** The environment variable that overrides the file. */
  readonly variable: string
  readonly description: string | null
  /** The JSON Schema of its value. */
  readonly schema: Schema
  /** The value that the running host uses, if it differs: until a restart, or by `option`. */
  readonly effective?: unknown
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
    schema,
    ...(waits && { effective: waits.effective ?? null }),
    ...(waits?.option && { option: waits.option }),
  }
}

/** The possible meanings of a value, the likeliest first: as the schema says, JSON, text. */
export function parseValue(text: string, schema: Schema): readonly [unknown, ...unknown[]] {
  if (schema.type === 'string') return [text]
  try {
    const value = readJson(text)
    return value === text ? [value] : [value, text]
  } catch {
    return [text]
  }
}

/** What the running host uses otherwise, without secrets. Empty if no host responds. */
export async function pendingSettings(directory: string): Promise<PendingSetting[]> {
  const response = await callRunningHost(directory, 'settings').catch(() => undefined)
  if (response === undefined) return []
  const schemas = new Map(hostSettings().map(({ key, schema }) => [key, schema]))
  return response.pending.flatMap(({ key, option, effective, next }) => {
    const schema = schemas.get(key)
    if (schema === undefined) return []
    return [{ key, option, effective: shown(effective, schema) ?? null, next: shown(next, schema) ?? null }]
  })
}
