import { define } from './define-failure.ts'
import { exitCodes, Failure } from './failure.ts'

export const lockLost = define.usage(
  'lock-lost',
  '{problem}. The command does not know what is installed, so it changed nothing.',
  {
    backup:
      'There is no record of it in .app/generations. Restore the file from version control, or a backup with "app restore".',
    record: 'Run "app doctor --fix": it restores {record}. Or restore the file from version control.',
  },
)

export const lockChanged = define.refused(
  'lock-changed',
  'Nothing was changed: modules.lock.json differs from generation {generation}, the current one. Something other than an app command changed it, for example git pull: {changes}.',
  'Run "app module-install" first to apply it, or go back: app module-rollback',
)

export const lockDiffers = define.refused(
  'lock-differs',
  '{difference}.',
  'Restore modules.lock.json from version control or from a backup.',
)

export const frozen = define.refused(
  'frozen',
  'Nothing was installed: {reason}, and --frozen installs exactly what the lock file names.',
  'Install it elsewhere without --frozen, commit modules.lock.json, then try again.',
)

/** An external lock file is refused. Keeps the code of `cause`. */
export function currentStays(cause: Failure, generation: number): Failure {
  return new Failure(
    cause.exitCode === exitCodes.activation ? 'activation' : 'refused',
    cause.code,
    `${cause.message} Generation ${generation} stays the current one.`,
    `${cause.hint} modules.lock.json was not changed, and the next start would apply it: restore the previous file (git checkout), or go back with "app module-rollback".`,
    { cause },
  )
}
