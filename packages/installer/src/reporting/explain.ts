import { ConfigError, ManifestError, NewerHostError } from '@mortise/application'
import { HostEndedError, HostRefusedError, HostSilentError, ModuleError } from '@mortise/host'
import {
  BrokenStorageError,
  EngineError,
  isFull,
  isLocked,
  MigrationError,
  StillNeededError,
  StorageBusyError,
  StorageRefusedError,
  StorageUnfitError,
  StorageUnreachableError,
  UnreadableFileError,
} from '@mortise/storage'
import {
  capitalised,
  databaseInUse,
  databaseLocked,
  databaseRefused,
  databaseUnfit,
  databaseUnreachable,
  Failure,
  fileUnreadable,
  hostGone,
  hostSilent,
  invalidConfig,
  invalidManifest,
  migrationRefused,
  moduleFailed,
  newerHost,
  noRoom,
  notOnPostgres,
  requestRefused,
  stillNeeded,
  storageFailed,
  unexpected,
} from '../failures/index.ts'
import { explainSystemError } from './explain-system-error.ts'

/** The host's errors whose messages need no explanation. */
const known = [
  [NewerHostError, newerHost],
  [ConfigError, invalidConfig],
  [ManifestError, invalidManifest],
  [StillNeededError, stillNeeded],
  [MigrationError, migrationRefused],
  [EngineError, notOnPostgres],
  [StorageBusyError, databaseInUse],
  [HostEndedError, hostGone],
  [BrokenStorageError, storageFailed],
] as const

/** Turns any error into a Failure: the installer's own, the host's, and unexpected ones. */
export function asFailure(error: unknown): Failure {
  if (error instanceof Failure) return error
  const cause = error instanceof Error ? error : new Error(String(error))
  const values = { reason: cause.message, problem: capitalised(cause.message), cause }
  // Whatever failed then, failed for this.
  if (isLocked(error)) return databaseLocked(values)
  if (error instanceof ModuleError) return moduleFailed({ ...values, module: error.module })
  if (error instanceof HostRefusedError) return requestRefused({ reason: error.reason, cause })
  if (error instanceof StorageUnfitError) return databaseUnfit(values)
  if (error instanceof StorageUnreachableError) {
    const define = error instanceof StorageRefusedError ? databaseRefused : databaseUnreachable
    const known = /the database (cannot be reached|refuses the connection): /
    return define({ reason: cause.message.replace(known, ''), cause })
  }
  if (error instanceof HostSilentError) {
    const silent = { ...values, process: error.pid ?? 'its process' }
    return hostSilent({ ...silent, hint: error.isStopped ? 'stopped' : 'busy' })
  }
  const entry = known.find(([Kind]) => error instanceof Kind)?.[1]
  if (entry !== undefined) return entry(values)
  if (isFull(error) || (error as NodeJS.ErrnoException | undefined)?.code === 'SQLITE_FULL') {
    return noRoom(values)
  }
  if (error instanceof UnreadableFileError) return fileUnreadable({ problem: cause.message, cause })
  return explainSystemError(cause) ?? unexpected(values)
}
