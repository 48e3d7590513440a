import { isDeepStrictEqual } from 'node:util'
import {
  EnvFileError,
  loadEnvFile,
  nameOfDatabaseSetting,
  readConfig,
  readDatabaseId,
  readIdentity,
  readPlace,
  unloadEnvFile,
} from '@mortise/application'
import { callRunningHost, type HostEnvironment, openStorage } from '@mortise/host'
import { isPostgresUrl } from '@mortise/storage'
import { envFileUnreadable, otherDatabaseVariable, otherSecretVariable } from '../failures/index.ts'

// A command and the host of its application use the same database and the same secret. Both come
// from the running host. If no host runs, they come from APP_… variables, then `envFile` of
// app.config.json, then the files.

/** The variables from the running host, with the values that they had here. */
const taken = new Map<string, string | undefined>()

/** Removes the variables that one call of the command added to the environment. */
export function resetEnvironment(): void {
  for (const [name, own] of taken) setVariable(name, own)
  taken.clear()
  unloadEnvFile()
}

function setVariable(name: string, value: string | undefined): void {
  if (value === undefined) delete process.env[name]
  else process.env[name] = value
}

/** The environment without the variables from the running host. */
export const ownEnvironment = (): NodeJS.ProcessEnv => ({ ...process.env, ...Object.fromEntries(taken) })

/** Adds the variables of `envFile` to the environment. Variables that are already set win. */
export async function loadOwnEnvFile(directory: string): Promise<void> {
  await loadEnvFile(directory).catch((error) => {
    if (!(error instanceof EnvFileError)) throw error
    throw envFileUnreadable({ file: error.file, reason: error.message, cause: error })
  })
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
    const here = named[name] ?? process.env[name]
    if (here === value) continue
    const own = process.env[name]
    if (name === 'APP_SECRET' && own !== undefined) throw otherSecretVariable()
    if (name === 'APP_DATABASE' && here !== undefined) {
      const difference = await differenceOf(directory, here, value)
      // Another user or password, or another name of the same server.
      if (difference === undefined) continue
      if (own !== undefined && !difference.onlyHere)
        throw otherDatabaseVariable({ ...namesOf(here, value), difference: difference.reason })
    }
    taken.set(name, own)
    process.env[name] = value
  }
}

const namesOf = (own: string, hosts: string) => ({
  own: nameOfDatabaseSetting(own),
  hosts: nameOfDatabaseSetting(hosts),
})

interface Difference {
  readonly reason: string
  /** It is the same database by its name, and only the user, the password or TLS here is wrong. */
  readonly onlyHere: boolean
}

/**
 * How the database that is set here differs from that of the running host: undefined if it is the
 * same one. The text of a URL is no identity: its password is rotated, and its server has several
 * names. Nor is the id that is stored in the database, which a copy of it has too.
 */
async function differenceOf(directory: string, here: string, hosts: string): Promise<Difference | undefined> {
  if (!isPostgresUrl(here) || !isPostgresUrl(hosts)) return { reason: 'these are different', onlyHere: false }
  try {
    if (await isServed(directory, here)) return undefined
    const reason = 'the server, the database or the schema is another one'
    return { reason, onlyHere: false }
  } catch (error) {
    const { own, hosts: served } = namesOf(here, hosts)
    return { reason: (error as Error).message, onlyHere: own === served }
  }
}

/** @throws {Error} if the database cannot be reached */
async function isServed(directory: string, url: string): Promise<boolean> {
  const storage = await openStorage({ url, create: false })
  try {
    const place = await callRunningHost(directory, 'place').catch(() => undefined)
    if (place !== undefined) return isDeepStrictEqual(place, await readPlace(storage))
    // The host has lost its database.
    return (await readDatabaseId(storage)) === (await readIdentity(directory))?.database?.id
  } finally {
    await storage.close()
  }
}
