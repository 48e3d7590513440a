import { realpath } from 'node:fs/promises'
import { isAbsolute, join, relative } from 'node:path'
import { type LockedPackage, type LockFile, lockedPackages, readGenerations } from '@mortise/application'
import { type DatabaseAddress, postgresData } from '@mortise/storage'
import { lastLockFile } from '../changes/lost-lock-file.ts'
import { askForSources } from '../reporting/ask-for-sources.ts'
import { foreignText } from '../reporting/foreign-text.ts'
import type { Reporter } from '../reporting/reporter.ts'
import { indexedPackage } from '../store/module-index.ts'
import { storedMigrations } from '../store/stored-migrations.ts'
import { DATA } from './archive-manifest.ts'

// What an archive names becomes the lock file, and counts as agreed to from then on. On PostgreSQL the
// migrations of modules that the store lacks run from the text in the archive. So the operator agrees
// to both before anything is replaced.

/**
 * @param folder the unpacked archive
 * @throws {Failure} `new-source`, or the reply was not yes
 */
export async function confirmArchive(
  {
    directory,
    file,
    terminal,
    yes,
  }: {
    readonly directory: string
    readonly file: string
    readonly terminal: Reporter
    readonly yes: boolean
  },
  folder: string,
  lock: LockFile | undefined,
  database: DatabaseAddress,
): Promise<void> {
  if (await isOwn(directory, file)) return
  const packages = lock === undefined ? [] : await newPackages(directory, lock)
  const texts = 'file' in database ? [] : await newTexts(directory, join(folder, DATA))
  await askForSources([...packages, ...texts], { terminal, yes }, 'archive')
}

/** Whether the application itself wrote it, into its private folder. */
async function isOwn(directory: string, file: string): Promise<boolean> {
  const place = relative(await realpath(join(directory, '.app')), await realpath(file))
  return !place.startsWith('..') && !isAbsolute(place)
}

async function newPackages(directory: string, lock: LockFile): Promise<string[]> {
  const { known } = await readGenerations(directory)
  const locks = [await lastLockFile(directory), ...known.map((generation) => generation.lock)]
  const agreed = locks.flatMap((one) => [...lockedPackages(one).values()])
  return [...lockedPackages(lock)].flatMap(([name, locked]) =>
    isShipped(locked) || agreed.some((one) => isSame(one, locked))
      ? []
      : [`${name} (${foreignText(locked.spec)})`],
  )
}

/** Its source, too: later versions come from there. */
const isSame = (one: LockedPackage, locked: LockedPackage) =>
  one.package === locked.package && one.tree === locked.tree && one.spec === locked.spec

/** Whether it is Mortise's by its name, with nothing else in it. */
const isShipped = ({ package: name, spec, dependencies }: LockedPackage) =>
  indexedPackage(name) === name && spec.startsWith(`${name}@`) && Object.keys(dependencies ?? {}).length === 0

async function newTexts(directory: string, data: string): Promise<string[]> {
  const { modulesOfCopy } = await postgresData()
  const modules = await modulesOfCopy(data, await storedMigrations(directory))
  return modules.map((module) => `the SQL of ${module} in the archive`)
}
