import { defineFailure } from './define-failure.ts'

export const invalidConfig = defineFailure(
  'usage',
  'invalid-config',
  'The configuration is wrong: {reason}',
  'Correct it, then try again.',
)

export const settingRefused = defineFailure(
  'usage',
  'invalid-setting',
  'app.config.json would be wrong: {problems}.',
  'Nothing was changed. Give it such a value; "app config get" shows the present ones and the defaults.',
)

export const settingNeeded = defineFailure(
  'usage',
  'invalid-setting',
  'app.config.json would be wrong: {problems}.',
  'Nothing was changed. Set it to another value instead.',
)

export const settingGroup = defineFailure(
  'usage',
  'setting-group',
  '"{key}" is no single setting.',
  'Name one: {settings}.',
)

export const emptySettingGroup = defineFailure(
  'usage',
  'setting-group',
  '"{key}" is no single setting.',
  'There is none to change.',
)

export const noSuchOwner = defineFailure(
  'notFound',
  'not-installed',
  '"{key}" names nothing: "{name}" is neither an installed module nor a setting of the host.',
  'See "app config get" for all settings.',
)

export const misspeltOwner = defineFailure(
  'notFound',
  'not-installed',
  '"{key}" names nothing: "{name}" is neither an installed module nor a setting of the host.',
  'Did you mean {near}?',
)

export const noSettings = defineFailure(
  'usage',
  'unknown-setting',
  '"{key}" is no setting of {owner}.',
  '{owner} takes no settings.',
)

export const unknownSetting = defineFailure(
  'usage',
  'unknown-setting',
  '"{key}" is no setting of {owner}.',
  'It has {settings}.',
)

export const misspeltSetting = defineFailure(
  'usage',
  'unknown-setting',
  '"{key}" is no setting of {owner}.',
  'Did you mean {near}?',
)

export const envFileUnreadable = defineFailure(
  'usage',
  'env-file-unreadable',
  'The environment file {file}, which the setting "envFile" names, cannot be read: {reason}',
  'Restore it, make it readable for this user, or correct "envFile".',
)

export const otherDatabaseVariable = defineFailure(
  'usage',
  'other-environment',
  'APP_DATABASE is {own} here, and the running host uses {hosts}. Nothing was changed.',
  'Unset APP_DATABASE: the command then uses that of the running host. Or restart the host with it.',
)

export const otherSecretVariable = defineFailure(
  'usage',
  'other-environment',
  'APP_SECRET is set here, and is not the secret of the running host. Nothing was changed.',
  'Unset APP_SECRET: the command then uses that of the running host. Or restart the host with it.',
)
