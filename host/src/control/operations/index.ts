// Each operation is a constant of a file in this folder.
export { audit } from './audit.ts'
export { backup, migrate, purge, restoreModule, undo } from './database.ts'
export { discard, reactions, replay } from './events.ts'
export { activate, restart, retired, settle } from './generations.ts'
export { discardJob, jobs, replayJobs } from './jobs.ts'
export { environment, hosts, metrics, openapi, schema, settings, state } from './reads.ts'
export { hold, keep, switchConfig as switch } from './write-pause.ts'
