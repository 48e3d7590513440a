import { define } from './define-failure.ts'

export const invalidManifest = define.refused(
  'invalid-manifest',
  'The module is refused: {reason}',
  'Nothing was changed. Correct it first.',
)

export const moduleFailed = define.refused(
  'module-failed',
  'The module {module} cannot be used: {reason}',
  'Correct the cause, or remove the module ("app module-remove").',
)

export const pausedDisabled = define.refused(
  'module-disabled',
  '{id} is disabled, so it has no routes to pause.',
  'Nothing was changed. To serve it: app module-enable {id}',
)

export const noEventHandler = define.notFound(
  'no-such-module',
  'No module "{name}" handles events, now or earlier.',
  'To list the modules that do: app events',
)

export const noFailedEvent = define.notFound(
  'no-failed-event',
  'No handler{of} failed on event {event}.',
  'To list the failed events: app events',
)

export const noConsole = define.notFound(
  'no-console',
  'The module web-console does not serve.',
  'Install it: app module-install web-console',
)

export const consoleRefused = define.unexpected(
  'console-refused',
  'The console has not ended its sessions: {reason}',
  'Try again, or end all that the secret of the application has proved: app secret rotate --now',
)

export const noFailedJob = define.notFound(
  'no-failed-job',
  'No job {job} has failed{by}.',
  'To list the failed jobs: app work. A job of a schedule cannot be discarded.',
)

export const noTypeScript = define.notFound(
  'no-typescript',
  '{module} has a tsconfig.json, and no typescript in its node_modules.',
  'Install it there: npm install --save-dev typescript',
)

export const compilerEnded = define.unexpected(
  'compiler-ended',
  'The TypeScript of the module ended: {reason}.',
  'Run "npx tsc --watch" in the folder of the module to see why. "app dev" needs TypeScript 5 or 6.',
)

export const changedMigration = define.refused(
  'changed-migration',
  'The code is not served: {reason}.',
  'If the migration was never released, run "app dev --yes": it creates the tables again, and their rows are lost. Otherwise restore the file, and put the change into a new migration.',
)
