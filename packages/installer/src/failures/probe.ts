import { define } from './define-failure.ts'

export const breaksPrevious = define.refused(
  'breaks-previous',
  'The upgrade of {module} to {next} is refused: version {previous} fails on the schema after its migrations: {reason}. Requests would fail until the switch, and after a rollback.',
  {
    others:
      'Nothing was changed. Report it to the author of the module: this version has to keep what {previous} uses; a later version can drop it.',
    own: 'Nothing was changed. Keep what {previous} uses in this version, and drop it in a later one.',
  },
)

export const probeFailed = define.refused('probe-failed', '{problem}', {
  others:
    'Nothing was changed. Report it to the author of the module, or correct its settings in app.config.json.',
  own: 'Nothing was changed. Correct the module in its folder, then install it again; --verbose shows where the error comes from.',
})

export const hostTrialFailed = define.refused(
  'host-refused',
  'The host {version} is refused: {reason}',
  'Nothing was changed. Correct the cause. If a module causes it, upgrade or disable that module first (app module-disable).',
)
