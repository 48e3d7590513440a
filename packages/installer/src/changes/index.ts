export { changeRecord, doneRecord } from './audit-record.ts'
export { changesBetween } from './changes-between.ts'
export { busyWith, withCommandLock, withLockWait, withPatience } from './command-lock.ts'
export {
  assertCurrent,
  currentGeneration,
  externalChanges,
  isCurrent,
  isExternalChange,
} from './current-generation.ts'
export { callUnlocked, namingDatabaseUser, whenDatabaseFree } from './database-in-use.ts'
export { deliverRecords } from './deliver-records.ts'
export { type Journal, readJournal, writeJournal } from './journal.ts'
export { reportUnreadable } from './report-unreadable.ts'
