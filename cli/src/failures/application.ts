import { defineFailure } from './define-failure.ts'

export const unexpected = defineFailure(
  'unexpected',
  'unexpected',
  'Something unexpected happened: {reason}',
  'Try again with --verbose to see where it comes from.',
)

export const endedEarly = defineFailure(
  'unexpected',
  'ended-early',
  'The command ended before it was done: what it waited for never came.',
  'Run it again: what it had begun is completed or taken back. If it ends so again, report it.',
)

export const findingsLeft = defineFailure(
  'unexpected',
  'findings-left',
  'Findings that need seeing to: {count}.',
  'Do what each of them says; "app doctor --fix" mends what it can.',
)

export const noApplication = defineFailure(
  'usage',
  'no-application',
  'There is no application here: {where} app.config.json.',
  'Make one with "app init", or name its folder with --dir.',
)

export const lostConfig = defineFailure(
  'usage',
  'config-lost',
  'app.config.json is missing in {directory}, which holds an application. Nothing was changed.',
  'Restore it from version control (git checkout app.config.json) or from a backup, which holds it: tar xzf <backup> app.config.json',
)

export const notOwner = defineFailure(
  'refused',
  'not-owner',
  '{path} belongs to another user ({owner}), and this is user {user}. Nothing was changed.',
  'Run the command as the owner: "su <name>" first, or as root "setpriv --reuid={owner} --regid={group} --clear-groups app …". To make the application this user\'s, as root: chown -R {user} {directory}',
)

export const notConfirmed = defineFailure(
  'refused',
  'declined',
  'Nothing was changed: it was not confirmed.',
  'Answer y, or add --yes.',
)

export const lossNotConfirmed = defineFailure(
  'refused',
  'declined',
  'Nothing was changed: it was not confirmed. {loss}',
  'If that may be lost, add --yes.',
)

export const noSecretToSignWith = defineFailure(
  'usage',
  'no-secret',
  'There is no secret to sign with: neither {file} nor APP_SECRET is there.',
  'Make one: app init {directory}',
)

export const noSecretToBackUp = defineFailure(
  'notFound',
  'no-secret',
  'There is no secret: {file} is missing.',
  'Leave --with-secret out where the secret comes from APP_SECRET.',
)

export const secretLost = defineFailure(
  'usage',
  'secret-lost',
  '{problem}. Nothing was changed.',
  'Restore {file}, set APP_SECRET, or begin with a new secret, which ends all tokens: app start --new-secret',
)

export const otherSecret = defineFailure(
  'usage',
  'other-secret',
  '{problem}. Nothing was changed.',
  'Give the command the secret of the last start: APP_SECRET, or "envFile" in app.config.json. If the secret is to change: app start --new-secret',
)
