// Each operation is a constant of a file in this folder.
export { audit } from './audit.ts'
export { backups, claimBackup, noteBackup } from './backups.ts'
export { backup, migrate, purge, restoreModule, undo } from './database.ts'
export { discard, discardJob, failedEvents, jobs, replay, replayJobs } from './failed.ts'
export { activate, release, restart, retired, settle } from './generations.ts'
export {
  access,
  clock,
  environment,
  hosts,
  measure,
  metrics,
  openapi,
  place,
  schema,
  settings,
  state,
  variables,
} from './reads.ts'
export { renewSecrets, tokens } from './secrets.ts'
export { hold, keep, switchConfig as switch } from './write-pause.ts'
