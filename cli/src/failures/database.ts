import { defineFailure } from './define-failure.ts'

export const databaseUnreachable = defineFailure(
  'unexpected',
  'database-unreachable',
  'The database is out of reach: {reason}',
  'Start the server, or correct "database" in app.config.json or APP_DATABASE: host, user, password, certificate.',
)

export const databaseInUse = defineFailure(
  'unexpected',
  'database-in-use',
  'The database is in use by another process: a host that starts or stops, or a command.',
  'Wait until it is done, or stop it, then try again.',
)

export const storageFailed = defineFailure(
  'unexpected',
  'storage-failed',
  'The disk or the database fails: {reason}',
  'Check the disk, then run "app doctor".',
)

export const hostStorageFailed = defineFailure(
  'fatal',
  'storage-failed',
  'The host stopped, since it cannot trust its database any more: {reason}',
  'Check the disk, then start it again: what was acknowledged is in the database.',
)

export const lostBeforeFirstStart = defineFailure(
  'usage',
  'database-lost',
  '{problem}. Nothing was changed.',
  'In a fresh clone, run "app init": it allows a new database. Otherwise mount the volume, or correct "database" in app.config.json or APP_DATABASE.',
)

export const databaseLost = defineFailure(
  'usage',
  'database-lost',
  'The database is lost. {problem}. Nothing was changed.',
  'Mount its volume, or correct "database" in app.config.json or APP_DATABASE. If the data are lost: "app restore <file>" restores a backup, "app start --new-database" begins with an empty one.',
)

export const databaseLostSnapshotLeft = defineFailure(
  'usage',
  'database-lost',
  'The database is lost. {problem}. Nothing was changed.',
  'Mount its volume, or correct "database" in app.config.json or APP_DATABASE. If the data are lost: "app restore <file>" restores a backup, "app doctor --fix" restores the snapshot of {at}, "app start --new-database" begins with an empty one.',
)

export const otherDatabase = defineFailure(
  'usage',
  'other-database',
  '{problem}. Nothing was changed.',
  'Correct "database" in app.config.json or APP_DATABASE, or mount the right volume. If this is the database from now on: app start --new-database',
)

export const migrationRefused = defineFailure(
  'refused',
  'migration-refused',
  'The database cannot be migrated: {reason}',
  'The former modules stay in use. The author of the module has to correct the migration.',
)

export const notOnPostgres = defineFailure(
  'refused',
  'not-on-postgres',
  'This works with SQLite only: {reason}',
  'Nothing was changed.',
)

export const stillNeeded = defineFailure(
  'refused',
  'still-served',
  'Another host of the database needs it: {reason}',
  'Have that one serve the same modules, or stop it, then try again. One that was killed counts for half a minute.',
)

export const stillServed = defineFailure(
  'refused',
  'still-served',
  'The data of {id} cannot be dropped: {host} serves it from the same database.',
  'Nothing was changed. Remove it everywhere first ("app module-remove {id}"; hosts that share this folder follow), then run the command again. A host that was killed counts for half a minute.',
)

export const notPurgeable = defineFailure(
  'refused',
  'not-purgeable',
  'The data cannot be dropped: {reason}.',
  'Nothing was changed. Correct what it says, or remove the module without --purge.',
)

export const notMovable = defineFailure(
  'refused',
  'not-movable',
  'The data cannot be moved: {reason}.',
  'The application goes on with SQLite. Correct what it says, then run the command again.',
)

export const moveTargetUnreachable = defineFailure(
  'unexpected',
  'database-unreachable',
  'The other database is out of reach: {reason}',
  'The application goes on with SQLite. Start that server, or correct --to: host, user, password, certificate.',
)

export const moveInterrupted = defineFailure(
  'unexpected',
  'move-interrupted',
  'The data have not been moved: {reason}.',
  'The application goes on with SQLite. Run the command again: it goes on where this one stopped.',
)

export const moveBusy = defineFailure(
  'busy',
  'busy',
  'A host has just started on this application, or stops.',
  'Run the command again: it goes on where this one stopped.',
)

export const notOnSqlite = defineFailure(
  'refused',
  'not-on-sqlite',
  'The database of this application is a PostgreSQL already, and only what is in SQLite is moved.',
  'Nothing was changed. From one PostgreSQL to another: app backup <file>, app config set database <url>, then app restore <file>.',
)

export const databaseOverridden = defineFailure(
  'refused',
  'database-overridden',
  'APP_DATABASE is set and wins over app.config.json, which is to name the new database.',
  'Write its value into app.config.json ("app config set database …"), unset it, and restart the host.',
)

export const nothingToMove = defineFailure(
  'refused',
  'no-data',
  'There is no SQLite database yet, so there is nothing to move.',
  'Have the application begin there, with the password in PGPASSWORD: app config set database "{url}"',
)
