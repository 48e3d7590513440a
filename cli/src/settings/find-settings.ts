import {
  configSchema,
  type LockFile,
  nearest,
  readLockFile,
  readPackage,
  storedModule,
  withoutDefaulted,
} from '@mortise/host'
import { type Failure, noSuchOwner, unknownSetting } from '../failures/index.ts'
import { installedId, readInstalled } from '../store/installed-packages.ts'
import { type Setting, type SettingsOwner, settingsBelow } from './setting.ts'

export interface FoundSettings {
  readonly owner: SettingsOwner
  readonly settings: readonly Setting[]
  /** Whether the key names a single setting. */
  readonly single: boolean
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
    : await findModule(directory, lock, parts[0] === 'modules' ? parts.slice(1) : parts, key)
  const settings = settingsBelow(owner, path)
  if (settings === undefined) throw unknown(owner, key)
  const [first] = settings
  const single = settings.length === 1 && first?.path.length === owner.path.length + path.length
  return { owner, settings, single }
}

export const hostSettings = (): Setting[] => settingsBelow(host, []) ?? []

/** All settings. A module missing from the store shows none. */
export async function allSettings(directory: string): Promise<Setting[]> {
  const { modules } = await readLockFile(directory)
  const owners = await Promise.all(
    Object.entries(modules).map(async ([id, locked]) => {
      const stored = await readPackage(storedModule(directory, locked)).catch(() => undefined)
      return moduleOwner(id, stored?.settingsSchema)
    }),
  )
  return [host, ...owners].flatMap((owner) => settingsBelow(owner, []) ?? [])
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
  const known = [...Object.keys(lock.modules), ...Object.keys(hostProperties)]
  const [near] = nearest(parts[0] as string, known)
  const name = parts[0] as string
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
