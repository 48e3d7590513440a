import { define } from './define-failure.ts'

export const busy = define.busy(
  'busy',
  'Another command is changing this application: {owner}.',
  'Try again later, or add --wait.',
)

export const interrupted = define.refused(
  'interrupted',
  'A command was interrupted, and its change is not complete.',
  'Run "app doctor --fix" to complete it, then try again.',
)

export const wrongMigration = define.refused('migration-failed', 'The module {id} is refused: {reason}', {
  others: 'Nothing was changed. Report it to the author of the module.',
  own: 'Nothing was changed. Correct the migration in its folder, then install the module again.',
})

export const hostRefusedMigration = define.refused(
  'migration-failed',
  'The running host could not migrate the database: {reason}.',
  'The previous modules keep running. The author of the module has to correct the migration.',
)

export const hostFailedToMigrate = define.unexpected(
  'migration-failed',
  'The running host could not migrate the database: {reason}.',
  'The previous modules keep running. The author of the module has to correct the migration.',
)

export const noRoomToMigrate = define.refused(
  'disk-full',
  'The running host has no disk space to migrate its database: {reason}.',
  'The previous modules keep running, and reads still work. Free disk space there, then run the command again.',
)

export const undoFailed = define.unexpected(
  'undo-failed',
  'The previous modules run again, but migrations could not be undone: {reason}',
  'The schema stays newer than the modules, which does no harm. The next command that changes the application tries again.',
)

export const snapshotFailed = define.refused(
  'snapshot-failed',
  'The command would migrate the database, and it cannot take a snapshot first: {reason}',
  'Nothing was changed. A snapshot is as large as the database. Free disk space for it, then try again.',
)

export const activationFailed = define.activation(
  'activation-failed',
  'The running host could not apply the change: {reason}. {where}',
  'Correct the cause, then try again. {schema}',
)

export const restoredNotTakenUp = define.activation(
  'activation-failed',
  'The store matches the lock file again, but the running host could not apply that: {reason}. It serves as before.',
  'Correct the cause, then restart the host.',
)
