import { Type } from '@sinclair/typebox'
import { readAudit } from '../../events/import-records.ts'
import { databaseOperation } from '../operation.ts'

/** Imports the pending records of the application folder, and returns the newest records. */
export const audit = databaseOperation({
  input: Type.Object({
    limit: Type.Integer(),
    before: Type.Optional(Type.Integer()),
    object: Type.Optional(Type.String()),
  }),
  run: async ({ config, storage }, query) => ({ records: await readAudit(config.directory, storage, query) }),
  withoutDatabase: async (config, query) => ({
    records: await readAudit(config.directory, undefined, query),
  }),
})
