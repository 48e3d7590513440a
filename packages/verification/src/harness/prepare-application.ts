import { randomBytes } from 'node:crypto'
import { cp, mkdir, rename, writeFile } from 'node:fs/promises'
import { dirname, isAbsolute, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import {
  configFile,
  emptyLockFile,
  hashTree,
  type LockFile,
  newIdentity,
  readPackage,
  secretFile,
  storeDirectory,
  storedModule,
  writeIdentity,
  writeLockFile,
} from '@mortise/application'

export interface PreparedApplication {
  /** The issuer of the JWTs that the application accepts. */
  readonly issuer: string
  readonly secret: string
}

/**
 * Creates an application folder like `app init` and `app module-install`, with modules in its
 * store. The host then runs the same code as in production.
 * @param modules packages of this checkout, or folders
 * @param settings of modules, by id
 */
export async function prepareApplication(
  directory: string,
  modules: readonly string[],
  settings: Readonly<Record<string, object>> = {},
): Promise<PreparedApplication> {
  const prepared = { issuer: 'urn:mortise:benchmark', secret: randomBytes(32).toString('base64url') }
  await mkdir(storeDirectory(directory), { recursive: true })
  await writeFile(secretFile(directory), prepared.secret, { mode: 0o600 })
  const config = {
    auth: { issuer: prepared.issuer },
    log: { level: 'silent' },
    // All load comes from this machine.
    rateLimit: { max: 0 },
    server: { maxConnectionsPerAddress: 0 },
    modules: settings,
  }
  await writeFile(configFile(directory), JSON.stringify(config))
  const locked: LockFile['modules'] = {}
  for (const wanted of modules) {
    const source = isAbsolute(wanted)
      ? wanted
      : dirname(fileURLToPath(import.meta.resolve(`${wanted}/package.json`)))
    const { name, version, manifest, directory: from } = await readPackage(source)
    const module = { package: name, version, spec: from, enabled: true }
    const published = ['package.json', 'dist', manifest.migrations, manifest.config]
    const staged = join(directory, 'staged', manifest.id)
    for (const path of published) {
      if (typeof path === 'string') await cp(join(from, path), join(staged, path), { recursive: true })
    }
    // No tarball is installed here: the hash of the files stands for its own.
    const tree = await hashTree(staged)
    const lockedModule = { ...module, integrity: tree, tree }
    await rename(staged, storedModule(directory, lockedModule))
    locked[manifest.id] = lockedModule
  }
  await writeLockFile(directory, { ...emptyLockFile, generation: 1, modules: locked })
  await writeIdentity(directory, newIdentity)
  return prepared
}
