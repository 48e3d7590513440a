// Operations on all data of an application on PostgreSQL. Their caller loads the driver.

export type { RestoredTable } from './postgres/restore-rows.ts'

export const postgresData = async () => ({
  ...(await import('./postgres/fill-schema.ts')),
  ...(await import('./postgres/replace-schema.ts')),
  ...(await import('./postgres/try-purge.ts')),
})
