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
  'Correct what it says, or remove the module ("app module-remove").',
)

export const noReactingModule = defineFailure(
  'notFound',
  'no-such-module',
  'No module "{name}" reacts to events, or has done so.',
  'See those that do: app events',
)

export const noFailedEvent = defineFailure(
  'notFound',
  'no-failed-reaction',
  'No module has failed on an event {event}.',
  'See those on which one has: app events',
)

export const noEventFailedBy = defineFailure(
  'notFound',
  'no-failed-reaction',
  '{module} has not failed on an event {event}.',
  'See those on which one has: app events',
)
