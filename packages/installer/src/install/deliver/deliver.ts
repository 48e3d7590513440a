import { cp, link, mkdir, readdir, readFile, rm } from 'node:fs/promises'
import { basename, join, relative, sep } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import {
  decide,
  hashTree,
  inTemporaryFolder,
  type LockedModule,
  type LockFile,
  type ModulePackage,
  modulesToLoad,
  readConfig,
  readLockFile,
  readNewPackage,
  storedModule,
} from '@mortise/application'
import { callApplication, moduleMigrations, openStorage } from '@mortise/host'
import { MigrationError } from '@mortise/storage'
import { writeConfigSchema } from '../../application/application-folder.ts'
import { doneRecord } from '../../changes/audit-record.ts'
import { withLockWait } from '../../changes/command-lock.ts'
import type { Reporter } from '../../reporting/reporter.ts'
import { KEPT, readInstalled } from '../../store/installed-packages.ts'
import { type LockedDependencies, type PackageJson, readPackageJson } from '../../store/package-json.ts'
import { makeStaging, moveToStore } from '../../store/staging.ts'
import { applyChange } from '../apply/apply-change.ts'
import { installDependencies } from '../fetch/dependencies.ts'
import { npmOptions } from '../fetch/npm-options.ts'
import { changeApplication } from '../pipeline.ts'
import { checkModules } from '../plan/checks/check-modules.ts'
import { checkEntry } from '../verify/entry.ts'
import { isForeign } from './folder-watch.ts'

export interface DeliverOptions {
  readonly module: string
  readonly directory: string
  readonly log: { isSwitching: boolean }
  readonly terminal: Reporter
  /** Writes the manifest of `module` from its code, copied to `staging`. */
  readonly writeManifest: (staging: string, json: PackageJson) => Promise<void>
  /** Drops the tables of the module first, if an applied migration has changed. */
  readonly remakesTables: boolean
  /** Whether the running host serves the module. */
  readonly serves: (id: string) => boolean
}

/** What serves now; undefined if nothing has changed. */
export type Delivered = { readonly id: string; readonly version: string } | undefined

/** An applied migration of the module has changed: its tables no longer fit. */
export class ChangedMigration extends Error {
  readonly id: string

  constructor(id: string, staging: string, cause: MigrationError) {
    // What follows is for released migrations.
    const [reason = ''] = cause.message.replaceAll(`${staging}${sep}`, '').split(/[:.] never /i)
    super(reason, { cause })
    this.id = id
  }
}

/**
 * Makes the running host serve a module as it lies in its folder. An installation packs the folder,
 * and probes it in a child process; the author wants it now. So the files are copied as they are
 * and without a sync, and the code is registered once on nothing in this process before the host
 * registers it beside the present code.
 *
 * @throws {ChangedMigration} unless `remakesTables`; nothing has changed then
 * @throws {Failure | ModuleError | MigrationError} the previous code still serves then
 */
export async function deliver(options: DeliverOptions): Promise<Delivered> {
  const { directory, terminal } = options
  const waiting = { seconds: Number.POSITIVE_INFINITY, note: (text: string) => terminal.note(text) }
  const delivered = await withLockWait(waiting, () =>
    changeApplication(directory, 'dev', terminal, () => switchTo(options)),
  )
  if (delivered !== undefined) await writeConfigSchema(directory)
  return delivered
}

/** The source of the module in the lock file. */
export const specOf = (directory: string, module: string) =>
  `file:${relative(directory, module).split(sep).join('/')}`

async function switchTo(options: DeliverOptions): Promise<Delivered> {
  const { module, directory, log, writeManifest, remakesTables, serves } = options
  const lock = await readLockFile(directory)
  const spec = specOf(directory, module)
  const present = Object.entries(lock.modules).find(([, locked]) => locked.spec === spec)
  const { staging, dependencies } = await stage(module, directory, present?.[1])
  const json = await readPackageJson(staging)
  checkEntry({
    package: { manifest: { id: json.name }, directory: staging },
    ...{ json, source: { isOwn: true, target: module } },
  })
  await writeManifest(staging, json)
  await cp(join(module, 'package.json'), join(staging, 'package.json'))

  const found = await readNewPackage(staging)
  const { id } = found.manifest
  const tree = await hashTree(staging)
  const locked: LockedModule = {
    ...decide({ package: found.name, version: found.version, spec, tree }, { state: 'active' }),
    // There is no tarball.
    integrity: tree,
    ...(dependencies && { dependencies }),
  }
  if (present?.[0] === id && isDeepStrictEqual(present[1], locked) && serves(id)) return undefined
  log.isSwitching = true
  const others = Object.entries(lock.modules).filter(([other]) => other !== id && other !== present?.[0])
  const loaded = modulesToLoad({ modules: Object.fromEntries(others) })
  const beside = await Promise.all(loaded.map(([other, its]) => readInstalled(other, its, directory)))
  await checkModules([{ package: found, json }], beside, await readConfig(directory))
  const installed = present && storedModule(directory, present[1])
  const changed = await changedMigration(directory, found, installed)
  if (changed !== undefined) {
    if (!remakesTables) throw new ChangedMigration(id, staging, changed)
    await dropTables(directory, lock, id)
  }
  await moveToStore(directory, locked, staging)
  const { generation } = await applyChange({
    ...{ directory, command: 'dev', previous: await readLockFile(directory) },
    modules: { ...Object.fromEntries(others), [id]: locked },
  })
  await forgetGenerations(directory, generation)
  return { id, version: found.version }
}

/** Copies what npm would pack, and the dependencies: from the previous copy if they are the same. */
async function stage(module: string, directory: string, previous: LockedModule | undefined) {
  const staging = await makeStaging(directory)
  const json = await readPackageJson(module)
  const packed = await packedNames(module)
  for (const name of await readdir(module)) {
    if (isForeign(name) || !(packed === undefined || packed.has(name))) continue
    await cp(join(module, name), join(staging, name), { recursive: true, filter: isPart })
  }
  const needed = dependenciesOf(json)
  if (Object.values(needed).every((ranges) => Object.keys(ranges).length === 0)) return { staging }
  const installed = previous && storedModule(directory, previous)
  const installedJson = installed && (await readPackageJson(installed).catch(() => undefined))
  if (installed && installedJson && isDeepStrictEqual(dependenciesOf(installedJson), needed)) {
    await linkTree(join(installed, 'node_modules'), join(staging, 'node_modules'))
    return { staging, dependencies: previous.dependencies }
  }
  const options = await npmOptions(directory)
  const dependencies = await installDependencies(staging, await makeStaging(directory), options)
  return { staging, dependencies: dependencies as LockedDependencies | undefined }
}

const dependenciesOf = ({ dependencies = {}, optionalDependencies = {} }: PackageJson) => ({
  dependencies,
  optionalDependencies,
})

/** Without the sources of TypeScript, which change before their code does. */
export const isPart = (path: string) =>
  !isForeign(basename(path)) && !/(?<!\.d)\.[mc]?tsx?$|\.tsbuildinfo$/.test(path)

/** The names in the folder that "files" in package.json mentions; undefined for all. */
async function packedNames(module: string): Promise<ReadonlySet<string> | undefined> {
  const { files } = JSON.parse(await readFile(join(module, 'package.json'), 'utf8'))
  if (!Array.isArray(files)) return undefined
  const names = files
    .filter((path) => !path.startsWith('!'))
    .map((path) => path.replace(/^(\.?\/)+/, '').split('/')[0])
  return names.some((name) => /[*?[\]{}]/.test(name)) ? undefined : new Set([...names, 'package.json'])
}

/** Nothing in the store is ever written again, so its files may have several names. */
async function linkTree(from: string, to: string): Promise<void> {
  await mkdir(to)
  for (const entry of await readdir(from, { withFileTypes: true })) {
    const [source, target] = [join(from, entry.name), join(to, entry.name)]
    await (entry.isDirectory() ? linkTree(source, target) : link(source, target))
  }
}

/** Whether a folder is the same in the code that is installed. */
async function hasSame(installed: string | undefined, staging: string, folder: string): Promise<boolean> {
  if (installed === undefined) return false
  const there = await hashTree(join(installed, relative(staging, folder))).catch(() => undefined)
  return there === (await hashTree(folder))
}

/**
 * Why the migrations of a package do not continue those of the database.
 * @param installed the folder of the installed code
 * @throws {MigrationError} if they cannot be applied to an empty database either
 */
async function changedMigration(
  directory: string,
  found: ModulePackage,
  installed: string | undefined,
): Promise<MigrationError | undefined> {
  const sets = moduleMigrations([found])
  const [set] = sets
  if (set === undefined || (await hasSame(installed, found.directory, set.directory))) return undefined
  const schema = await callApplication(directory, 'schema')
  return await inTemporaryFolder(directory, async (scratch) => {
    const present = await openStorage({ file: join(scratch, 'present.db'), durable: false, schema })
    try {
      await present.pending(sets)
      return undefined
    } catch (error) {
      if (!(error instanceof MigrationError)) throw error
      const empty = await openStorage({ file: join(scratch, 'empty.db'), durable: false })
      await empty.migrate(sets).finally(() => empty.close())
      return error
    } finally {
      await present.close()
    }
  })
}

/** Every change reads the records of all, and a day of work makes hundreds. */
async function forgetGenerations(directory: string, present: number): Promise<void> {
  const folder = join(directory, '.app', 'generations')
  for (const name of await readdir(folder))
    if (Number.parseInt(name, 10) <= present - 2 * KEPT) await rm(join(folder, name))
}

/** The host stops serving the module for that. */
async function dropTables(directory: string, lock: LockFile, id: string): Promise<void> {
  if (Object.hasOwn(lock.modules, id)) {
    const { [id]: _, ...modules } = lock.modules
    await applyChange({ directory, command: 'dev', previous: lock, modules })
  }
  await callApplication(directory, 'retired', { modules: [id] })
  await callApplication(directory, 'purge', { module: id, record: doneRecord('purge', id, {}) })
}
