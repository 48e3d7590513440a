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
