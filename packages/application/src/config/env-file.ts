import { isAbsolute, join } from 'node:path'
import { parseEnv } from 'node:util'
import { readText } from '@mortise/storage'
import { readEnvFileSetting } from './config.ts'

/** The variables of this process that come from the file. */
const loaded = new Set<string>()

/** The file that the setting `envFile` names cannot be read. */
export class EnvFileError extends Error {
  override readonly name = 'EnvFileError'
  readonly file: string

  constructor(file: string, cause: unknown) {
    super((cause as Error).message, { cause })
    this.file = file
  }
}

/**
 * Adds the variables of `envFile` to the environment of this process, or renews them. Variables that
 * were set otherwise win.
 * @throws {EnvFileError}
 */
export async function loadEnvFile(directory: string): Promise<void> {
  const name = await readEnvFileSetting(directory)
  if (name === undefined) return
  const file = isAbsolute(name) ? name : join(directory, name)
  const variables = await readText(file)
    .then(parseEnv)
    .catch((error) => {
      throw new EnvFileError(file, error)
    })
  for (const gone of loaded) if (!(gone in variables)) forget(gone)
  for (const [name, value] of Object.entries(variables)) {
    if (process.env[name] !== undefined && !loaded.has(name)) continue
    loaded.add(name)
    process.env[name] = value
  }
}

/** Removes them from the environment. */
export function unloadEnvFile(): void {
  for (const name of loaded) forget(name)
}

/** For a child process that loads the file itself: removes them from its environment. */
export const withoutEnvFile = (): Record<string, undefined> =>
  Object.fromEntries([...loaded].map((name) => [name, undefined]))

function forget(name: string): void {
  loaded.delete(name)
  delete process.env[name]
}
