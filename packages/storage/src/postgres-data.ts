// Operations on all data of an application on PostgreSQL. Their caller loads the driver.

export type { Move } from './postgres/move.ts'
export type { Reconciled } from './postgres/reconcile.ts'

export const postgresData = async () => ({
  ...(await import('./postgres/move.ts')),
  ...(await import('./postgres/replace-schema.ts')),
  ...(await import('./postgres/try-purge.ts')),
})
