import { isAbsolute, join } from 'node:path'
import { loadEnvFile } from 'node:process'
import {
  callRunningHost,
  type HostEnvironment,
  nameOfDatabaseSetting,
  readConfig,
  readEnvFileSetting,
} from '@mortise/host'
import { Failure } from '../terminal/failure.ts'

// A command and the host of its application use the same database and the same secret. Both come from the running host;
// without one, from APP_… variables, then from `envFile` of app.config.json, then from the files.

const fromFile = new Set<string>()
const taken = new Set<string>()

/** Takes back what one call of the command has added to the environment. */
export function resetEnvironment(): void {
  for (const names of [fromFile, taken]) {
    for (const name of names) delete process.env[name]
    names.clear()
  }
}

/** The environment without what this command has taken from the running host. */
export const ownEnvironment = (): NodeJS.ProcessEnv =>
  Object.fromEntries(Object.entries(process.env).filter(([name]) => !taken.has(name)))

/** Adds the variables of `envFile` to the environment; those that are set already win. @throws {Failure} */
export async function loadOwnEnvFile(directory: string): Promise<void> {
  const name = await readEnvFileSetting(directory)
  if (name === undefined) return
  const file = isAbsolute(name) ? name : join(directory, name)
  const before = new Set(Object.keys(process.env))
  try {
    loadEnvFile(file)
    for (const added of Object.keys(process.env)) if (!before.has(added)) fromFile.add(added)
  } catch (error) {
    throw new Failure(
      'usage',
      'env-file-unreadable',
      `The environment file ${file}, which the setting "envFile" names, cannot be read: ${(error as Error).message}`,
      'Restore it, make it readable for this user, or correct "envFile".',
      { cause: error },
    )
  }
}

/**
 * Uses the database and the secret of the running host.
 * @throws {Failure} where a variable that is set here names another one
 */
export async function takeHostEnvironment(directory: string): Promise<void> {
  // A host that hangs is what some commands mend, and others do without.
  const answer = await callRunningHost(directory, { method: 'GET', path: '/environment' }).catch(
    () => undefined,
  )
  if (answer?.status !== 200) return
  const host = answer.body as HostEnvironment
  const own = await readConfig(directory).catch(() => undefined)
  const named = {
    APP_DATABASE: own?.databaseFile ?? own?.database,
    APP_SECRET: own?.secret && Buffer.from(own.secret).toString(),
  }
  for (const [name, value] of Object.entries(host) as [keyof HostEnvironment, string][]) {
    if (named[name] === value) continue
    if (process.env[name] !== undefined) throw another(name, process.env[name], value)
    process.env[name] = value
    taken.add(name)
  }
}

function another(name: keyof HostEnvironment, own: string, hosts: string): Failure {
  return new Failure(
    'usage',
    'other-environment',
    name === 'APP_DATABASE'
      ? `APP_DATABASE is ${nameOfDatabaseSetting(own)} here, and the running host uses ${nameOfDatabaseSetting(hosts)}. Nothing was changed.`
      : 'APP_SECRET is set here, and is not the secret of the running host. Nothing was changed.',
    `Unset ${name}: the command then uses that of the running host. Or restart the host with it.`,
  )
}
