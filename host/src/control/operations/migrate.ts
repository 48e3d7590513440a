import { Type } from '@sinclair/typebox'
import { LockedModule } from '../../modules/lock-file.ts'
import { migrateHost } from '../../modules/migrate-host.ts'
import { migrateStored } from '../../modules/migrate-stored.ts'
import { databaseOperation } from '../operation.ts'

/** Migrates the schema for stored modules. */
export const migrate = databaseOperation({
  input: Type.Object({ modules: Type.Record(Type.String(), LockedModule) }),
  async run({ config, storage, installed }, { modules }) {
    if (installed !== undefined) return { applied: await installed.migrate(modules) }
    const own = await migrateHost(storage)
    return { applied: [...own, ...(await migrateStored(config, storage, modules))] }
  },
})
