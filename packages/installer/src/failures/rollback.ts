import { define } from './define-failure.ts'
import { exitCodes, Failure } from './failure.ts'

export const notUndoable = define.refused(
  'not-undoable',
  'The application cannot go back: {reason}',
  'Nothing was changed. Install a newer version of the module, or restore a backup: app restore',
)

export const irreversible = define.refused(
  'irreversible',
  'The application cannot go back to generation {generation}: the migration {migration} of {module} cannot be undone.',
  {
    backup:
      'Nothing was changed. Install a newer version of {module} instead, or restore a backup from before the migration.',
    snapshot:
      'Nothing was changed. Install a newer version of {module} instead, or lose all writes since {at}: app module-rollback {generation} --restore-snapshot',
  },
)

export const generationUnreadable = define.notFound(
  'generation-unreadable',
  'The application cannot go back to generation {generation}: {reason}',
  'Restore the file from a backup of the folder, or choose another generation: app module-history',
)

export const noSuchGeneration = define.notFound(
  'no-such-generation',
  'There is no generation {generation}.',
  'To list all generations: app module-history',
)

export const noPreviousGeneration = define.notFound(
  'no-such-generation',
  'There is no previous generation.',
  'To list all generations: app module-history',
)

export const newerHostServes = define.refused(
  'host-running',
  'Generation {generation} has an older host version, and a newer host still uses its tables: {hosts}.',
  'Nothing was changed. Stop that host, run the command again, then start the application. A killed host counts for half a minute.',
)

/** The packages of an older generation cannot be downloaded. Keeps the code of `cause`. */
export function previousNotFetched(cause: Failure, generation: number, kept: number): Failure {
  return new Failure(
    cause.exitCode === exitCodes.refused ? 'refused' : 'notFound',
    cause.code,
    `The application cannot go back to generation ${generation}: packages are missing in the store and cannot be downloaded. ${cause.message}`,
    `Restore the source of the packages, or install another version. The store keeps the last ${kept} generations.`,
    { cause },
  )
}
