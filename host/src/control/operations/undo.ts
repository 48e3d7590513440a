import type { AppliedMigration } from '@mortise/storage'
import { Type } from '@sinclair/typebox'
import { assertMigrationsUnused } from '../open-application.ts'
import { databaseOperation } from '../operation.ts'

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
