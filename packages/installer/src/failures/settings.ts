import { define } from './define-failure.ts'

export const invalidConfig = define.usage(
  'invalid-config',
  'The configuration is invalid: {reason}',
  'Correct it, then try again.',
)

export const settingRefused = define.usage(
  'invalid-setting',
  'app.config.json would be invalid: {problems}.',
  {
    set: 'Nothing was changed. Use a valid value; "app config get" shows the current values and the defaults.',
    unset: 'Nothing was changed. Set it to another value instead.',
  },
)

export const secretSetting = define.usage(
  'secret-setting',
  '{key} is a secret, and app.config.json is committed with the application.',
  'Nothing was changed. Set the variable {variable} for the host and for this command: in the environment, or in the file that "envFile" names (mode 0600). Then restart the host.',
)

export const settingGroup = define.usage('setting-group', '"{key}" is a group of settings.', {
  settings: 'Name one: {settings}. Or give all of them as one JSON object.',
  empty: 'It has no settings to change.',
})

export const noSuchOwner = define.notFound(
  'not-installed',
  'Unknown setting "{key}": "{name}" is neither an installed module nor a setting of the host.',
  {
    list: 'To list all settings: app config get',
    misspelt: 'Did you mean {near}?',
    near: 'Did you mean {near}? A setting of a module that you install later: app config set modules.{key} <value>',
    id: 'To list all settings: app config get. A setting of a module that you install later has its id in front: app config set <id>.<setting> <value>',
  },
)

export const unknownSetting = define.usage('unknown-setting', '"{key}" is not a setting of {owner}.', {
  none: '{owner} has no settings.',
  known: 'Its settings: {settings}.',
  misspelt: 'Did you mean {near}?',
})

export const envFileUnreadable = define.usage(
  'env-file-unreadable',
  'The environment file {file}, which the setting "envFile" names, cannot be read: {reason}',
  'Restore the file, make it readable for this user, or correct "envFile".',
)

export const otherDatabaseVariable = define.usage(
  'other-environment',
  'APP_DATABASE is {own} here, and the running host uses {hosts}: {difference}. Nothing was changed.',
  'Unset APP_DATABASE to use the database of the running host, or restart the host with this one.',
)

export const otherSecretVariable = define.usage(
  'other-environment',
  'APP_SECRET differs from the secret of the running host. Nothing was changed.',
  'Unset APP_SECRET to use the secret of the running host, or restart the host with this one.',
)
