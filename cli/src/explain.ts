import { CommanderError } from 'commander'
import { Failure } from './failure.ts'
import { ConfigError, ManifestError, MigrationError, ModuleError, StorageBusyError } from './host.ts'

/** Any error as what the command answers: its own failures, the host's, usage, and the unexpected. */
export function asFailure(error: unknown): Failure {
  if (error instanceof Failure) return error
  if (error instanceof CommanderError) {
    const message = error.message.replace(/^error: /, '')
    return new Failure(
      'usage',
      'usage',
      `${message.charAt(0).toUpperCase()}${message.slice(1)}.`,
      'See "app --help", or the --help of the command.',
    )
  }
  const cause = error instanceof Error ? error : new Error(String(error))
  const known = (kind: ConstructorParameters<typeof Failure>[0], code: string, hint: string) =>
    new Failure(kind, code, cause.message, hint, { cause })
  if (error instanceof ConfigError) return known('usage', 'invalid-config', 'Correct it, then try again.')
  if (error instanceof ManifestError) {
    return known('refused', 'invalid-manifest', 'Nothing was changed. Tell the author of the module.')
  }
  if (error instanceof ModuleError) {
    return new Failure(
      'refused',
      'module-failed',
      `${error.module} cannot be used: ${error.message}.`,
      'Correct what it says, or remove the module ("app module-remove").',
      { cause },
    )
  }
  if (error instanceof MigrationError) {
    return known(
      'refused',
      'migration-refused',
      'The former modules stay in use. Tell the author of the module.',
    )
  }
  if (error instanceof StorageBusyError) {
    return known('unexpected', 'database-in-use', 'Stop the other host of this application, then try again.')
  }
  return known('unexpected', 'unexpected', 'Try again with --verbose to see where it comes from.')
}
