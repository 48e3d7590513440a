import {
  BrokenStorageError,
  ConfigError,
  EngineError,
  HostGoneError,
  HostSilentError,
  isFull,
  ManifestError,
  MigrationError,
  ModuleError,
  NewerHostError,
  StillNeededError,
  StorageBusyError,
  StorageUnreachableError,
  UnreadableFileError,
} from '@mortise/host'
import { CommanderError } from 'commander'
import { explainSystemError } from './explain-system-error.ts'
import { Failure } from './failure.ts'

/** Any error as what the command answers: its own failures, the host's, usage, and the unexpected. */
export function asFailure(error: unknown): Failure {
  if (error instanceof Failure) return error
  if (error instanceof CommanderError) {
    const message = error.message
      .replace(/^error: /, '')
      .replace(/\.?\s*\n\(Did you mean (.*)\?\)$/, '. Did you mean $1?')
    return new Failure(
      'usage',
      'usage',
      `${message.charAt(0).toUpperCase()}${message.slice(1)}`,
      'See "app --help", or the --help of the command.',
    )
  }
  const cause = error instanceof Error ? error : new Error(String(error))
  const known = (kind: ConstructorParameters<typeof Failure>[0], code: string, what: string, hint: string) =>
    new Failure(kind, code, `${what}: ${cause.message}`, hint, { cause })
  if (error instanceof NewerHostError) {
    return known(
      'refused',
      'newer-host',
      'This host is too old for the application',
      'Start the newer one, whose version this is to be; or restore a backup that was made before it.',
    )
  }
  if (error instanceof ConfigError) {
    return known('usage', 'invalid-config', 'The configuration is wrong', 'Correct it, then try again.')
  }
  if (error instanceof ManifestError) {
    return known(
      'refused',
      'invalid-manifest',
      'The module is refused',
      'Nothing was changed. Correct it first.',
    )
  }
  if (error instanceof ModuleError) {
    return new Failure(
      'refused',
      'module-failed',
      `The module ${error.module} cannot be used: ${error.message}`,
      'Correct what it says, or remove the module ("app module-remove").',
      { cause },
    )
  }
  if (error instanceof StillNeededError) {
    return known(
      'refused',
      'still-served',
      'Another host of the database needs it',
      'Have that one serve the same modules, or stop it, then try again. One that was killed counts for half a minute.',
    )
  }
  if (error instanceof MigrationError) {
    return known(
      'refused',
      'migration-refused',
      'The database cannot be migrated',
      'The former modules stay in use. The migration has to be corrected by whoever wrote the module.',
    )
  }
  if (error instanceof EngineError) {
    return known('refused', 'not-on-postgres', 'This works with SQLite only', 'Nothing was changed.')
  }
  if (error instanceof StorageUnreachableError) {
    return new Failure(
      'unexpected',
      'database-unreachable',
      cause.message.charAt(0).toUpperCase() + cause.message.slice(1),
      'Start the server, or correct "database" in app.config.json or APP_DATABASE: host, user, password, certificate.',
      { cause },
    )
  }
  if (error instanceof StorageBusyError) {
    return new Failure(
      'unexpected',
      'database-in-use',
      'The database of this application is in use by another process: a host that starts or stops, or a command.',
      'Wait until it is done, or stop it, then try again.',
      { cause },
    )
  }
  if (error instanceof HostSilentError) {
    const message = `${cause.message.charAt(0).toUpperCase()}${cause.message.slice(1)}`
    return new Failure('unexpected', 'host-silent', message, error.hint, { cause })
  }
  if (error instanceof HostGoneError) {
    return new Failure(
      'unexpected',
      'host-gone',
      `${cause.message.charAt(0).toUpperCase()}${cause.message.slice(1)}`,
      'See why in its log and start it again, then repeat the command: a change that had begun is completed or taken back first.',
      { cause },
    )
  }
  if (error instanceof BrokenStorageError) {
    return new Failure(
      'unexpected',
      'storage-failed',
      `The disk or the database fails: ${cause.message}`,
      'Check the disk, then run "app doctor".',
      { cause },
    )
  }
  if (isFull(error) || (error as NodeJS.ErrnoException | undefined)?.code === 'SQLITE_FULL') {
    return new Failure(
      'unexpected',
      'disk-full',
      `${cause.message.charAt(0).toUpperCase()}${cause.message.slice(1)}`,
      'Nothing was changed by that. Make room on the disk (df -h), then run the command again.',
      { cause },
    )
  }
  if (error instanceof UnreadableFileError) {
    return new Failure(
      'usage',
      'file-unreadable',
      cause.message,
      'Put the file back from a backup of the folder. "app doctor" says what it is for and what else there is, and "app doctor --fix" sets it aside where the application can do without.',
      { cause },
    )
  }
  const system = explainSystemError(cause)
  if (system !== undefined) return system
  return known(
    'unexpected',
    'unexpected',
    'Something unexpected happened',
    'Try again with --verbose to see where it comes from.',
  )
}
