import {
  configSchema,
  type LockFile,
  nearest,
  readLockFile,
  readPackage,
  storedModule,
  withoutDefaulted,
} from '@mortise/application'
import { type ConfigText, valueAt } from '@mortise/application/folder'
import { Failure, noSuchOwner, unknownSetting } from '../failures/index.ts'
import { installedId, readInstalled } from '../store/installed-packages.ts'
import { type Schema, type Setting, type SettingsOwner, settingAt, settingsBelow } from './setting.ts'

export interface FoundSettings {
  readonly owner: SettingsOwner
  readonly settings: readonly Setting[]
  /** Whether the key names a single setting. */
  readonly single: boolean
  /** The group that the key names, if it names one inside a module or the host. */
  readonly group?: Setting | undefined
}

const { modules: _, $schema: __, ...hostProperties } = configSchema.properties
const host: SettingsOwner = {
  module: undefined,
  path: [],
  schema: {
    ...withoutDefaulted(configSchema),
    properties: hostProperties,
  },
}

/** Stands for an owner that is not installed. No value of its settings can be checked. */
const nobody: SettingsOwner = { module: undefined, path: [], schema: undefined }

/** A setting without a schema. Its value may be a secret. */
function undescribed(key: string, path: readonly string[], owner = nobody): FoundSettings {
  return { owner, settings: [{ key, path, schema: { writeOnly: true } as unknown as Schema }], single: true }
}

/**
 * The settings that `key` names: `note.keepFor`, `note` for a whole module, `server.port`,
 * `server`. The host's keys come before modules of the same name; `modules.log.level` always means
 * the module. A package name may stand for the module.
 * @throws {Failure} no such module (3) or setting (2); a package missing from the store (4)
 */
export async function findSettings(directory: string, key: string): Promise<FoundSettings> {
  const lock = await readLockFile(directory)
  const parts = key.split('.')
  const { owner, path } = Object.hasOwn(hostProperties, parts[0] as string)
    ? { owner: host, path: parts }
    : await findModule(directory, lock, partsInModules(key), key)
  const settings = settingsBelow(owner, path)
  if (settings === undefined) throw unknown(owner, key)
  const [first] = settings
  const single = settings.length === 1 && first?.path.length === owner.path.length + path.length
  return { owner, settings, single, ...(!single && path.length > 0 && { group: settingAt(owner, path) }) }
}

/** Finds also what the file has without a schema, such as a setting of a module that was removed. */
export async function findWritten(
  directory: string,
  key: string,
  { json }: ConfigText,
): Promise<FoundSettings> {
  return await findSettings(directory, key).catch(async (error) => {
    const parts = key.split('.')
    const path = [['modules', ...parts], parts].find((one) => valueAt(json, one) !== undefined)
    if (!(error instanceof Failure) || path === undefined) throw error
    const [root, id] = path
    const { modules } = await readLockFile(directory)
    const isInstalled = root === 'modules' && id !== undefined && Object.hasOwn(modules, id)
    const owner = isInstalled ? (await findSettings(directory, `modules.${id}`)).owner : nobody
    return undescribed(key, path, owner)
  })
}

/** Finds also a setting of a module that is not installed yet: its installation checks the value. */
export async function findSettable(directory: string, key: string): Promise<FoundSettings> {
  return await findSettings(directory, key).catch(async (error) => {
    if (!(error instanceof Failure) || error.code !== 'not-installed') throw error
    const [id = '', ...path] = partsInModules(key)
    const isNamed = /^[a-z][a-z0-9-]*$/.test(id) && path.length > 0 && !path.includes('')
    if (!isNamed) throw noSuchOwner({ hint: 'id', key, name: id })
    const { modules } = await readLockFile(directory)
    const owners = key.startsWith('modules.') ? [] : nearest(id, ownersIn(modules))
    const keys = owners.map((owner) => [owner, ...path].join('.'))
    const known = keys.map((one) =>
      findSettings(directory, one)
        .then(() => one)
        .catch(() => []),
    )
    const [near] = (await Promise.all(known)).flat()
    if (near !== undefined) throw noSuchOwner({ hint: 'near', key, name: id, near })
    return undescribed(key, ['modules', id, ...path])
  })
}

/** The path in `modules` that a key of a module's setting means. */
const partsInModules = (key: string) => key.replace(/^modules\./, '').split('.')

const ownersIn = (modules: LockFile['modules']) => [...Object.keys(modules), ...Object.keys(hostProperties)]

export const hostSettings = (): Setting[] => settingsBelow(host, []) ?? []

/** All settings, and what the file has for other modules. A module missing from the store shows none. */
export async function allSettings(directory: string, { json }: ConfigText): Promise<Setting[]> {
  const { modules } = await readLockFile(directory)
  const others = Object.entries(json.modules ?? {}).filter(([id]) => !Object.hasOwn(modules, id))
  const owners = await Promise.all(
    Object.entries(modules).map(async ([id, locked]) => {
      const stored = await readPackage(storedModule(directory, locked)).catch(() => undefined)
      return moduleOwner(id, stored?.settingsSchema)
    }),
  )
  const waiting = others.flatMap(([id, settings]) =>
    Object.keys(settings ?? {}).flatMap(
      (name) => undescribed(`${id}.${name}`, ['modules', id, name]).settings,
    ),
  )
  return [...[host, ...owners].flatMap((owner) => settingsBelow(owner, []) ?? []), ...waiting]
}

/** Package names may contain dots, so the longest installed prefix of the key is the module. */
async function findModule(directory: string, lock: LockFile, parts: readonly string[], key: string) {
  for (let length = parts.length; length > 0; length--) {
    const id = installedId(lock, parts.slice(0, length).join('.'))
    const locked = id === undefined ? undefined : lock.modules[id]
    if (id === undefined || locked === undefined) continue
    const { settingsSchema } = await readInstalled(id, locked, directory)
    return { owner: moduleOwner(id, settingsSchema), path: parts.slice(length) }
  }
  const name = parts[0] as string
  const [near] = nearest(name, ownersIn(lock.modules))
  if (near === undefined) throw noSuchOwner({ hint: 'list', key, name })
  throw noSuchOwner({ hint: 'misspelt', key, name, near: [near, ...parts.slice(1)].join('.') })
}

const moduleOwner = (id: string, schema: SettingsOwner['schema']): SettingsOwner => ({
  module: id,
  path: ['modules', id],
  schema,
})

function unknown(owner: SettingsOwner, key: string): Failure {
  const known = (settingsBelow(owner, []) ?? []).map((setting) => setting.key)
  const [near] = nearest(key, known)
  const names = { key, owner: owner.module ?? 'the host' }
  if (known.length === 0) return unknownSetting({ hint: 'none', ...names })
  if (near) return unknownSetting({ hint: 'misspelt', ...names, near })
  return unknownSetting({ hint: 'known', ...names, settings: known.join(', ') })
}
