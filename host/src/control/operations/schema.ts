import { databaseOperation } from '../operation.ts'

/** The schema and the ledger of the database. */
export const schema = databaseOperation({
  reads: true,
  run: ({ storage }) => storage.schema(),
  withoutDatabase: async () => ({ statements: [], ledger: [] }),
})
