import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { Failure } from '../failure.ts'
import { callRunningHost, type DatabaseSchema, databaseSchema, type Lock, readLock } from '../host.ts'
import { applyChange, type Switched } from './apply-change.ts'
import { type Generation, readGenerations } from './generations.ts'
import { readInstalled } from './installed-packages.ts'
import { npmOptions } from './npm-options.ts'
import { restoreStore } from './restore-store.ts'

export interface RolledBack {
  readonly switched: Switched | undefined
  readonly generation: number
  /** The generation whose modules are installed again. */
  readonly to: number
  /** The migrations that were undone: `api-cart/002-note`. */
  readonly undone: readonly string[]
}

/**
 * Installs what a former generation had: the one before the last change, or a named one. The migrations that its
 * packages do not have are undone by what the ledger recorded of them, so no module's code is needed. Data of
 * modules that it does not have stay, as when they are removed. Run it while the application is locked.
 *
 * @throws {Failure} where there is no such generation (3), or a migration in between cannot be undone (4)
 */
export async function rollbackModules(
  directory: string,
  command: string,
  generation: number | undefined,
): Promise<RolledBack> {
  const lock = await readLock(directory)
  const target = find(await readGenerations(directory, lock), lock, generation)
  const { modules, generation: to } = target.lock
  if (isDeepStrictEqual(modules, lock.modules)) {
    return { switched: undefined, generation: lock.generation, to, undone: [] }
  }
  await restoreStore(directory, target.lock, Object.keys(modules), await npmOptions(directory))
  const undo = await migrationsBeyond(directory, target.lock)
  const stuck = undo.find(({ down }) => down === null)
  if (stuck) {
    throw new Failure(
      'refused',
      'irreversible',
      `Generation ${to} cannot be gone back to: the migration ${stuck.name} of ${stuck.module} cannot be undone.`,
      `Go on with a newer version of ${stuck.module} instead, or restore a backup that was made before it.`,
    )
  }
  const switched = await applyChange({
    directory,
    command,
    former: lock,
    modules,
    undo: undo.map(({ module, name }) => ({ module, name })),
  })
  const undone = undo.map(({ module, name }) => `${module}/${name}`)
  return { switched, generation: switched.generation, to, undone }
}

/** Without a number: the last generation that had something else installed. */
function find(generations: readonly Generation[], lock: Lock, number: number | undefined): Generation {
  const found =
    number === undefined
      ? generations.findLast((past) => !isDeepStrictEqual(past.lock.modules, lock.modules))
      : generations.find((past) => past.lock.generation === number)
  if (found) return found
  throw new Failure(
    'notFound',
    'no-such-generation',
    number === undefined
      ? 'There is no former generation to go back to.'
      : `There is no generation ${number}.`,
    'See what there was: app module-history',
  )
}

/** What the database has of the modules of `lock`, and their packages do not. */
async function migrationsBeyond(directory: string, lock: Lock): Promise<DatabaseSchema['ledger']> {
  const answer = await callRunningHost(directory, { method: 'GET', path: '/schema' })
  const { ledger } = answer ? (answer.body as DatabaseSchema) : await databaseSchema(directory)
  const own = new Map<string, Set<string>>()
  for (const [id, locked] of Object.entries(lock.modules)) {
    const { directory: folder, manifest } = await readInstalled(id, locked, directory)
    const files = manifest.migrations === undefined ? [] : await readdir(join(folder, manifest.migrations))
    own.set(id, new Set(files.map((file) => file.slice(0, file.indexOf('.')))))
  }
  return ledger.filter(({ module, name }) => own.get(module)?.has(name) === false)
}
