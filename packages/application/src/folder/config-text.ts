import { parseJson, readText } from '@mortise/storage'
import { configFile } from '../config/config.ts'
import { ConfigError } from '../config/settings.ts'

/** app.config.json as it is in the file, without defaults or environment variables. */
export interface ConfigText {
  readonly text: string
  readonly json: Readonly<Record<string, unknown>>
}

/** @throws {ConfigError} if the file is not a JSON object */
export async function readConfigText(directory: string): Promise<ConfigText> {
  const text = await readText(configFile(directory))
  return { text, json: parseConfig(text, configFile(directory)) }
}

export function parseConfig(text: string, file: string): Record<string, unknown> {
  const json = parseJson(text, (reason) => new ConfigError(`${file} ${reason}`))
  if (typeof json === 'object' && json !== null && !Array.isArray(json)) return json as never
  throw new ConfigError(`${file} must hold a JSON object`)
}

export function valueAt(json: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>((at, key) => {
    const isObject = typeof at === 'object' && at !== null
    return isObject && Object.hasOwn(at, key) ? (at as Record<string, unknown>)[key] : undefined
  }, json)
}
