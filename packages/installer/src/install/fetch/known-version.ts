import { type LockedModule, readGenerations } from '@mortise/application'
import semver from 'semver'
import { migrationNames, readLedger } from '../../store/applied-migrations.ts'
import { lockedModule } from '../../store/installed-packages.ts'
import { isStored } from '../../store/staging.ts'

/**
 * The newest version of a module that was installed here and has all its migrations in the database
 * still. A package that the store no longer has counts if no other version came after it.
 * @returns undefined if the database has nothing of the module
 */
export async function knownVersion(
  directory: string,
  id: string,
  packageName: string,
): Promise<LockedModule | undefined> {
  const { known } = await readGenerations(directory)
  const past = known.flatMap(({ lock }) => lockedModule(lock, id) ?? []).toReversed()
  const ofPackage = past.filter((locked) => locked.package === packageName)
  if (ofPackage.length === 0) return undefined
  const ledger = await readLedger(directory)
  const applied = new Set(ledger.flatMap(({ module, name }) => (module === id ? [name] : [])))
  if (applied.size === 0) return undefined
  for (const locked of ofPackage.toSorted((one, other) => semver.rcompare(one.version, other.version))) {
    if (!(await isStored(directory, locked))) {
      if (locked === past[0]) return locked
      continue
    }
    const names = (await migrationNames(directory, { [id]: locked })).get(id)
    if (names?.size && [...names].every((name) => applied.has(name))) return locked
  }
  return undefined
}
