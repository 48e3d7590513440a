import { existsSync } from 'node:fs'
import { readdir, readFile, rename, rm, stat } from 'node:fs/promises'
import { dirname, join, relative } from 'node:path'
import { type LockFile, lockedPackages, lockFilePath, readLockFile, storedModule } from '@mortise/application'
import { syncPath } from '@mortise/storage'
import { create } from 'tar'
import { assertFolder } from '../data/assert-folder.ts'
import { fileExists, nothingToBundle, storeIncomplete } from '../failures/index.ts'
import { hostEntry, lockEntry, moduleEntry } from '../store/bundle-file.ts'
import { isStored } from '../store/staging.ts'
import { integrityOf } from './fetch/fetch-package.ts'

/**
 * Writes the present generation into one file: the lock file, and the modules and pinned host with
 * their dependencies. One generation always gives the same bytes. Call this with the command lock.
 * @returns `unchanged`: whether the same file already existed, byte for byte
 * @throws {Failure} if the store differs from the lock file, or `file` has other content
 */
export async function bundleApplication(directory: string, file: string) {
  await assertFolder(file)
  if ((await stat(file).catch(() => undefined))?.isDirectory()) throw fileExists({ file })
  const lock = await readLockFile(directory)
  const names = await namesOf(directory, lock)
  const temporary = `${file}.${process.pid}.tmp`
  try {
    await create(
      {
        file: temporary,
        cwd: directory,
        gzip: true,
        portable: true,
        noMtime: true,
        strict: true,
        onWriteEntry: (entry: { path: string }) => {
          entry.path = names.get(entry.path) as string
        },
      } as never,
      [...names.keys()],
    )
    await syncPath(temporary)
    const data = await readFile(temporary)
    const unchanged = existsSync(file)
    if (unchanged && !(await readFile(file)).equals(data)) throw fileExists({ file })
    if (!unchanged) {
      await rename(temporary, file)
      await syncPath(dirname(file))
    }
    const integrity = integrityOf(data)
    const modules = Object.entries(lock.modules).map(([id, { version }]) => ({ id, version }))
    const host = lock.host?.version ?? null
    return { file, generation: lock.generation, host, modules, bytes: data.length, integrity, unchanged }
  } finally {
    await rm(temporary, { force: true })
  }
}

/** Every file of the bundle: its path in the application to its path in the bundle. */
async function namesOf(directory: string, lock: LockFile): Promise<Map<string, string>> {
  const packages = lockedPackages(lock)
  if (packages.size === 0) throw nothingToBundle()
  const names = new Map([[relative(directory, lockFilePath(directory)), lockEntry]])
  for (const [name, locked] of packages) {
    const entry = locked === lock.host ? hostEntry : moduleEntry(name)
    const place = storedModule(directory, locked)
    if (!(await isStored(directory, locked))) {
      const reason = 'it is missing, or its files differ'
      throw storeIncomplete({ name: `${name} ${locked.version}`, reason })
    }
    const entries = await readdir(place, { recursive: true, withFileTypes: true })
    const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name))
    for (const path of files.sort()) {
      names.set(relative(directory, path), `${entry}/${relative(place, path)}`)
    }
  }
  return names
}
