import type { ModuleData, Storage } from '@mortise/storage'
import { insertion, type OperatorRecord } from './audit-trail.ts'
import { forgetSubscription } from './failed-reactions.ts'

/** Drops what the database has of a module that is not installed: how far it had got with events, and its tables. */
export async function purgeData(
  storage: Storage,
  module: string,
  record: OperatorRecord,
): Promise<ModuleData> {
  await storage.transaction(() => forgetSubscription(module))
  return storage.purge(module, insertion(record))
}
