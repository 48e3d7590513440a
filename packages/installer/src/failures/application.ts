import { define } from './define-failure.ts'

export const unexpected = define.unexpected(
  'unexpected',
  'Unexpected error: {reason}',
  'Run the command again with --verbose to see where the error comes from.',
)

export const endedEarly = define.unexpected(
  'ended-early',
  'The command ended before it was done: something that it waited for never happened.',
  'Run it again: it completes or reverts the change. If this happens again, report it.',
)

export const findingsLeft = define.unexpected(
  'findings-left',
  'Findings that need attention: {count}.',
  'Follow the advice below each finding. "app doctor --fix" fixes what it can.',
)

export const noApplication = define.usage(
  'no-application',
  'This is not an application: {where} app.config.json.',
  'Create one with "app init", or name its folder with --dir.',
)

export const lostConfig = define.usage(
  'config-lost',
  'app.config.json is missing in {directory}, which holds an application. Nothing was changed.',
  'Restore it from version control (git checkout app.config.json) or from a backup: tar xzf <backup> app.config.json',
)

export const notOwner = define.refused(
  'not-owner',
  '{path} belongs to another user ({owner}); you are user {user}. Nothing was changed.',
  'Run the command as the owner: "su <name>" first, or as root "setpriv --reuid={owner} --regid={group} --clear-groups app …". To give the application to this user, as root: chown -R {user} {directory}',
)

export const notConfirmed = define.refused('declined', 'Nothing was changed: you did not confirm {what}.', {
  question: 'Enter y, or add --yes.',
  loss: 'To accept the loss, add --yes.',
})

export const noReply = define.refused(
  'declined',
  'Nothing was changed: nobody replied to the question in time.',
  'Run the command again and reply to it, or add --yes.',
)

export const noSecretToSignWith = define.usage(
  'no-secret',
  'There is no secret to sign with: {file} is missing, and APP_SECRET is not set.',
  'Create one: app init {directory}',
)

export const noSecretToRotate = define.usage(
  'no-secret',
  'There is no secret to replace: {file} is missing.',
  'Create one: app init {directory}',
)

export const secretElsewhere = define.usage(
  'secret-elsewhere',
  'The secret comes from {source}, which this command cannot change. Nothing was changed.',
  'Write the same secret into {file} (mode 0600), remove APP_SECRET and restart the hosts: no token becomes invalid. Then run the command again. Without an overlap: set APP_SECRET to another secret and run app start --new-secret.',
)

export const overlapUnknown = define.unexpected(
  'overlap-unknown',
  'The database cannot say when the last token expires: {reason}. Nothing was changed.',
  'Name the time yourself (--overlap 30d), or end all tokens (--now).',
)

export const wrongOverlap = define.usage('invalid-overlap', '{problem}', {
  lifetime: 'Write a number and s, m, h, d, w or y, such as 30d.',
  both: 'Leave one of them out.',
  action: 'Write: app secret rotate',
})

export const noSecretToBackUp = define.notFound(
  'no-secret',
  'The secret is missing: there is no {file}.',
  'If the secret comes from APP_SECRET, leave --with-secret out.',
)

export const secretLost = define.usage(
  'secret-lost',
  '{problem}. Nothing was changed.',
  'Restore {file}, set APP_SECRET, or start with a new secret, which invalidates all tokens: app start --new-secret',
)

export const otherSecret = define.usage(
  'other-secret',
  '{problem}. Nothing was changed.',
  'Use the secret of the last start: APP_SECRET, or "envFile" in app.config.json. To change the secret: app start --new-secret',
)

export const notForDevelopment = define.usage(
  'not-for-development',
  '{directory} is an application that "app dev" did not create.',
  'Leave --dir out: "app dev" then creates .app-dev in the folder of the module. Or name a new folder.',
)
