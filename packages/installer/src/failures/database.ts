import { define } from './define-failure.ts'

export const databaseUnreachable = define.unexpected(
  'database-unreachable',
  'PostgreSQL cannot be reached: {reason}.',
  'Start the server, or correct "database" in app.config.json or APP_DATABASE: host, user, password, certificate.',
)

export const databaseRefused = define.unexpected(
  'database-unreachable',
  'PostgreSQL refuses the connection: {reason}.',
  'Correct user, password or database: in "database" of app.config.json, APP_DATABASE, "envFile" or PGPASSWORD, or on the server.',
)

export const databaseUnfit = define.usage(
  'database-unfit',
  'The database cannot be used as it is: {reason}.',
  'Nothing was changed. Correct that, or "database" in app.config.json or APP_DATABASE, then run the command again.',
)

export const databaseInUse = define.unexpected(
  'database-in-use',
  'Another process uses the database: a host that starts or stops, or a command.',
  'Wait for it or stop it, then try again.',
)

export const databaseLocked = define.busy(
  'database-locked',
  '{problem}',
  'Nothing was changed. Wait until it ends, or end it (in PostgreSQL: SELECT pg_terminate_backend(…)), then run the command again.',
)

export const storageFailed = define.unexpected(
  'storage-failed',
  'The disk or the database failed: {reason}',
  'Check the disk, then run "app doctor".',
)

export const hostStorageFailed = define.fatal(
  'storage-failed',
  'The host stopped because it cannot trust its database any more: {reason}',
  'Check the disk, then start it again. All acknowledged writes are in the database.',
)

export const lostBeforeFirstStart = define.usage(
  'database-lost',
  '{problem}. Nothing was changed.',
  'In a fresh clone, run "app init" to allow a new database. Otherwise mount the volume, or correct "database" in app.config.json or APP_DATABASE.',
)

export const databaseLost = define.usage(
  'database-lost',
  'The database is lost. {problem}. Nothing was changed.',
  {
    backup:
      'Mount its volume, or correct "database" in app.config.json or APP_DATABASE. If the data are lost: "app restore <file>" restores a backup, "app start --new-database" starts with an empty one.',
    snapshot:
      'Mount its volume, or correct "database" in app.config.json or APP_DATABASE. If the data are lost: "app restore <file>" restores a backup, "app doctor --fix" restores the snapshot of {at}, "app start --new-database" starts with an empty one.',
  },
)

export const otherDatabase = define.usage(
  'other-database',
  '{problem}. Nothing was changed.',
  'Correct "database" in app.config.json or APP_DATABASE, or mount the right volume. To use this database from now on: app start --new-database',
)

export const migrationRefused = define.refused(
  'migration-refused',
  'The database cannot be migrated: {reason}',
  'The previous modules keep running. The author of the module has to correct the migration.',
)

export const notOnPostgres = define.refused(
  'not-on-postgres',
  'This works with SQLite only: {reason}',
  'Nothing was changed.',
)

export const stillNeeded = define.refused(
  'still-served',
  'Another host on this database needs it: {reason}',
  'Install the same modules there, or stop that host, then try again. A killed host counts for half a minute.',
)

export const stillServed = define.refused(
  'still-served',
  'The data of {id} cannot be dropped: {host} serves it from the same database.',
  'Nothing was changed. Remove it everywhere first ("app module-remove {id}"; hosts that share this folder follow), then run the command again. A killed host counts for half a minute.',
)

export const notPurgeable = define.refused(
  'not-purgeable',
  'The data cannot be dropped: {reason}.',
  'Nothing was changed. Correct the cause, or remove the module without --purge.',
)

export const notMovable = define.refused('not-movable', 'The data cannot be moved: {reason}.', {
  other: 'The application still uses SQLite. Correct the cause, then run the command again.',
  install:
    'The application still uses SQLite. Install that version, then run the command again: app module-install {spec}',
})

export const moveTargetUnreachable = define.unexpected(
  'database-unreachable',
  'The other database cannot be reached: {reason}',
  'The application still uses SQLite. Start that server, or correct --to: host, user, password, certificate.',
)

export const moveInterrupted = define.unexpected(
  'move-interrupted',
  'The data were not moved: {reason}.',
  'The application still uses SQLite. Run the command again: it starts over.',
)

export const moveBusy = define.busy(
  'busy',
  'A host of this application is starting or stopping.',
  'Run the command again.',
)

export const notOnSqlite = define.refused(
  'not-on-sqlite',
  'This application already uses PostgreSQL, and the command moves data from SQLite only.',
  'Nothing was changed. To move from one PostgreSQL to another: app backup <file>, app config set database <url>, then app restore <file>.',
)

export const databaseOverridden = define.refused(
  'database-overridden',
  'APP_DATABASE is set and overrides app.config.json, where the command would name the new database.',
  'Write its value to app.config.json ("app config set database …"), unset it, and restart the host.',
)

export const nothingToMove = define.refused(
  'no-data',
  'There is no SQLite database yet, so there is nothing to move.',
  'Start the application on PostgreSQL, with the password in PGPASSWORD: app config set database "{url}"',
)
