// Operations on all data of an application on PostgreSQL. Their caller loads the driver.

export type { ForeignObject } from './postgres/foreign-objects.ts'
export type { RestoredTable } from './postgres/restore-rows.ts'

export const postgresData = async () => ({
  ...(await import('./postgres/fill-schema.ts')),
  ...(await import('./postgres/foreign-objects.ts')),
  modulesOfCopy: (await import('./postgres/postgres-forms.ts')).modulesOfCopy,
  ...(await import('./postgres/replace-schema.ts')),
  ...(await import('./postgres/try-change.ts')),
})
