import { databaseOperation } from '../operation.ts'

/** The hosts that serve from the database: this one and the others. */
export const hosts = databaseOperation({
  reads: true,
  run: async ({ hosts: { self, others } }) => ({ ...(self && { self }), others: await others() }),
})
