import { cp, mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { Manifest } from '@mortise/module-sdk/host'
import type { Test } from 'tap'
import { configFile, secretFile } from '../src/config/config.ts'
import { newIdentity, writeIdentity } from '../src/config/identity.ts'
import { hashTree } from '../src/modules/hash-tree.ts'
import {
  emptyLockFile,
  type LockedModule,
  readLockFile,
  storedModule,
  writeLockFile,
} from '../src/modules/lock-file.ts'

/** A folder of the test's own, gone when it ends. */
export async function temporaryFolder(t: Test): Promise<string> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'mortise-')))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  return folder
}

/** An application folder as `app init` makes it. */
export async function applicationFolder(t: Test, config: object = {}): Promise<string> {
  const folder = await temporaryFolder(t)
  await write(folder, {
    [configFile('')]: JSON.stringify({
      auth: { issuer: 'test' },
      server: { port: 0 },
      log: { level: 'silent' },
      ...config,
    }),
    [secretFile('')]: 'a secret of 32 bytes, for tests only',
  })
  await writeLockFile(folder, emptyLockFile)
  await writeIdentity(folder, newIdentity)
  return folder
}

export interface FixtureModule {
  readonly manifest: Partial<Manifest> & Pick<Manifest, 'id'>
  readonly version?: string
  /** By path; `index.js` is the entry, an ES module. */
  readonly files: Readonly<Record<string, string>>
  /** Further fields of package.json. */
  readonly packageJson?: object
}

/** Writes a module's package into a new folder. */
export async function modulePackage(t: Test, module: FixtureModule): Promise<string> {
  const folder = await temporaryFolder(t)
  const { manifest, version = '1.0.0', files, packageJson } = module
  await write(folder, {
    'package.json': JSON.stringify({
      name: manifest.id,
      version,
      type: 'module',
      mortise: { host: '*', routes: [], ...manifest },
      ...packageJson,
    }),
    ...files,
  })
  return folder
}

/** Puts modules into the store and the lock, as one generation, as `app module-install` would. */
export async function install(t: Test, application: string, ...modules: FixtureModule[]): Promise<void> {
  const lock = await readLockFile(application)
  const installed: Record<string, LockedModule> = {}
  for (const module of modules) {
    const source = await modulePackage(t, module)
    const { id } = module.manifest
    const tree = await hashTree(source)
    const locked = {
      package: id,
      version: module.version ?? '1.0.0',
      spec: id,
      integrity: tree,
      tree,
      enabled: true,
    }
    await cp(source, storedModule(application, locked), { recursive: true })
    installed[id] = locked
  }
  await writeLockFile(application, {
    ...lock,
    generation: lock.generation + 1,
    modules: { ...lock.modules, ...installed },
  })
}

/** Takes a module out of the lock. */
export async function uninstall(application: string, id: string): Promise<void> {
  const { modules, generation, ...lock } = await readLockFile(application)
  const { [id]: _removed, ...others } = modules
  await writeLockFile(application, { ...lock, generation: generation + 1, modules: others })
}

/** A module with one public route that returns `response`. */
export function oneRoute(id: string, response: string, version = '1.0.0'): FixtureModule {
  return {
    version,
    manifest: { id, routes: [`GET /${id}`] },
    files: {
      'index.js': `export default async (app) => {
        app.get('/${id}', { config: { access: 'public' } }, async () => ({ response: '${response}' }))
      }`,
    },
  }
}

async function write(folder: string, files: Readonly<Record<string, string>>): Promise<void> {
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder, path)), { recursive: true })
    await writeFile(join(folder, path), text)
  }
}
