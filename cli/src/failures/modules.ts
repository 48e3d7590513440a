import { defineFailure } from './define-failure.ts'

export const invalidManifest = defineFailure(
  'refused',
  'invalid-manifest',
  'The module is refused: {reason}',
  'Nothing was changed. Correct it first.',
)

export const moduleFailed = defineFailure(
  'refused',
  'module-failed',
  'The module {module} cannot be used: {reason}',
  'Correct the cause, or remove the module ("app module-remove").',
)

export const noEventHandler = defineFailure(
  'notFound',
  'no-such-module',
  'No module "{name}" handles events, now or earlier.',
  'To list the modules that do: app events',
)

export const noFailedEvent = defineFailure(
  'notFound',
  'no-failed-reaction',
  'No handler failed on event {event}.',
  'To list the failed events: app events',
)

export const noFailedJob = defineFailure(
  'notFound',
  'no-failed-job',
  'No job {job} has failed{by}.',
  'To list the failed jobs: app work. A job of a schedule cannot be discarded.',
)

export const noEventFailedBy = defineFailure(
  'notFound',
  'no-failed-reaction',
  'The handler of {module} did not fail on event {event}.',
  'To list the failed events: app events',
)

export const noTypeScript = defineFailure(
  'notFound',
  'no-typescript',
  '{module} has a tsconfig.json, and no typescript in its node_modules.',
  'Install it there: npm install --save-dev typescript',
)

export const compilerEnded = defineFailure(
  'unexpected',
  'compiler-ended',
  'The TypeScript of the module ended: {reason}.',
  'Run "npx tsc --watch" in the folder of the module to see why. "app dev" needs TypeScript 5 or 6.',
)

export const changedMigration = defineFailure(
  'refused',
  'changed-migration',
  'The code is not served: {reason}.',
  'If the migration was never released, run "app dev --yes": it creates the tables again, and their rows are lost. Otherwise restore the file, and put the change into a new migration.',
)
