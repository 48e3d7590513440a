// What the start of an application needs. It loads what changes an application on demand.

export { isRestorationLeft } from './data/restore-journal.ts'
export { scheduleBackups } from './data/scheduled-backups.ts'
export { blocksStart } from './install/apply/blocks-start.ts'
export { restoreAtStart } from './install/restore-at-start.ts'
