import { databaseOperation } from '../operation.ts'

export const schema = databaseOperation({
  reads: true,
  run: ({ storage }) => storage.schema(),
  withoutDatabase: async () => ({ statements: [], ledger: [] }),
})
