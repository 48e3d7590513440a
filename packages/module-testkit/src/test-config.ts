import { mkdir, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { type Config, configFile, readConfig, secretFile } from '@mortise/application'

/**
 * Makes an application folder like `app init` and reads it like the host, without environment
 * variables.
 */
export async function testConfig(
  directory: string,
  settings: Readonly<Record<string, unknown>> = {},
): Promise<Config> {
  const defaults = { auth: { issuer: 'mortise-testkit' }, log: { level: 'error' } }
  await mkdir(dirname(secretFile(directory)), { recursive: true })
  await writeFile(secretFile(directory), 'a secret of 32 bytes, for tests only')
  await writeFile(configFile(directory), JSON.stringify({ ...defaults, ...settings }))
  return readConfig(directory, {})
}
