import { isAbsolute, join } from 'node:path'
import { loadEnvFile } from 'node:process'
import {
  callRunningHost,
  type HostEnvironment,
  nameOfDatabaseSetting,
  readConfig,
  readEnvFileSetting,
} from '@mortise/host'
import { envFileUnreadable, otherDatabaseVariable, otherSecretVariable } from '../failures/index.ts'

// A command and the host of its application use the same database and the same secret. Both come
// from the running host. If no host runs, they come from APP_… variables, then `envFile` of
// app.config.json, then the files.

const fromFile = new Set<string>()
const taken = new Set<string>()

/** Removes the variables that one call of the command added to the environment. */
export function resetEnvironment(): void {
  for (const names of [fromFile, taken]) {
    for (const name of names) delete process.env[name]
    names.clear()
  }
}

/** The environment without the variables from the running host. */
export const ownEnvironment = (): NodeJS.ProcessEnv =>
  Object.fromEntries(Object.entries(process.env).filter(([name]) => !taken.has(name)))

/** Adds the variables of `envFile` to the environment. Variables that are already set win. */
export async function loadOwnEnvFile(directory: string): Promise<void> {
  const name = await readEnvFileSetting(directory)
  if (name === undefined) return
  const file = isAbsolute(name) ? name : join(directory, name)
  const before = new Set(Object.keys(process.env))
  try {
    loadEnvFile(file)
    for (const added of Object.keys(process.env)) if (!before.has(added)) fromFile.add(added)
  } catch (error) {
    throw envFileUnreadable({ file, reason: (error as Error).message, cause: error })
  }
}

/** @throws {Failure} if a variable that is set here has another value */
export async function takeHostEnvironment(directory: string): Promise<void> {
  // Some commands repair a hanging host, and others can work without it.
  const host = await callRunningHost(directory, 'environment').catch(() => undefined)
  if (host === undefined) return
  const own = await readConfig(directory).catch(() => undefined)
  const named = {
    APP_DATABASE: own?.databaseFile ?? own?.database,
    APP_SECRET: own?.secret && Buffer.from(own.secret).toString(),
  }
  for (const [name, value] of Object.entries(host) as [keyof HostEnvironment, string][]) {
    if (named[name] === value) continue
    const own = process.env[name]
    if (own !== undefined) {
      if (name === 'APP_SECRET') throw otherSecretVariable()
      throw otherDatabaseVariable({ own: nameOfDatabaseSetting(own), hosts: nameOfDatabaseSetting(value) })
    }
    process.env[name] = value
    taken.add(name)
  }
}
