import { IdentityError, LockedModule, OperatorRecord } from '@mortise/application'
import { type AppliedMigration, copyDatabase, MigrationError, type MigrationSet } from '@mortise/storage'
import { Type } from '@sinclair/typebox'
import { insertion } from '../../events/audit-trail.ts'
import { deleteSubscription } from '../../events/failed-event-queries.ts'
import { deleteJobs } from '../../events/job-queries.ts'
import { migrateHost } from '../../modules/migrate-host.ts'
import { migrateStored } from '../../modules/migrate-stored.ts'
import { assertMigrationsUnused, whileOpen } from '../open-application.ts'
import { isDatabaseMissing } from '../open-application-storage.ts'
import { databaseOperation } from '../operation.ts'

/** Writes a copy of the database, as of one moment, to an absolute path. */
export const backup = databaseOperation({
  input: Type.Object({ file: Type.String() }),
  async run({ storage }, { file }) {
    await storage.copyTo(file)
    return {}
  },

  /** Does not lock a SQLite file against hosts and other commands. */
  async alone(config, { file }) {
    const { databaseFile } = config
    if (databaseFile === undefined || (await isDatabaseMissing(config))) {
      await whileOpen(config, ({ storage }) => storage.copyTo(file))
      return {}
    }
    await whileOpen(config, async () => {}).catch((error) => {
      // Otherwise the records wait for the next command.
      if (error instanceof IdentityError) throw error
    })
    try {
      await copyDatabase(databaseFile, file)
      return {}
    } catch (error) {
      const { path = databaseFile } = error as NodeJS.ErrnoException
      throw Object.assign(error as Error, { path })
    }
  },
})

/** Migrates the schema for stored modules. */
export const migrate = databaseOperation({
  input: Type.Object({ modules: Type.Record(Type.String(), LockedModule) }),
  async run({ config, storage, installed }, { modules }) {
    if (installed !== undefined) return { applied: await installed.migrate(modules) }
    const own = await migrateHost(storage)
    return { applied: [...own, ...(await migrateStored(config, storage, modules))] }
  },
})

/** Undoes migrations; skips those that are not applied. See `Storage.undo`. */
export const undo = databaseOperation({
  input: Type.Object({
    migrations: Type.Unsafe<readonly AppliedMigration[]>(
      Type.Array(Type.Object({ module: Type.String(), name: Type.String() })),
    ),
  }),
  async run(application, { migrations }) {
    await assertMigrationsUnused(
      application,
      migrations.map(({ module }) => module),
    )
    await application.storage.undo(migrations)
    return {}
  },
})

/** `sets` are the migrations of all available packages. */
export const restoreModule = databaseOperation({
  needs: 'no host',
  input: Type.Object({
    file: Type.String(),
    sets: Type.Unsafe<readonly MigrationSet[]>(Type.Array(Type.Object({}))),
    record: OperatorRecord,
  }),
  migrates: true,
  run: ({ storage }, { file, sets, record }) => storage.restoreModule(file, sets, insertion(record)),
})

/** Drops a module's event cursor, jobs and tables, and records that. The module is not installed. */
export const purge = databaseOperation({
  input: Type.Object({ module: Type.String(), record: OperatorRecord }),
  migrates: true,
  async run(application, { module, record }) {
    const { installed, storage } = application
    if (installed?.modules.some(({ id }) => id === module)) {
      throw new MigrationError(`the tables of ${module} cannot be dropped: it is installed`)
    }
    await assertMigrationsUnused(application, [module])
    await storage.transaction(function* () {
      yield* deleteSubscription(module)
      yield* deleteJobs(module)
    })
    return await storage.purge(module, insertion(record))
  },
})
