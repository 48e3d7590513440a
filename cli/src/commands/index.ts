import type { ListedCommand } from '../terminal/command.ts'

// What the general help prints of each command. The rest is in its file, which is loaded with all
// that the command needs only if the command is named.

export const commands: readonly ListedCommand[] = [
  {
    name: 'init',
    summary: 'create an application folder: config, secret, data folder, .gitignore',
    arguments: '[dir]',
    load: async () => (await import('./init.ts')).init,
  },
  {
    name: 'start',
    summary: 'run the application',
    load: async () => (await import('./start.ts')).start,
  },
  {
    name: 'restart',
    summary: 'replace the processes of "app start --workers" one by one; no request fails',
    load: async () => (await import('./restart.ts')).restart,
  },
  {
    name: 'module-install',
    summary: 'install modules as one change; without a name: restore the store from the lock file',
    arguments: '[spec...]',
    load: async () => (await import('./module-install.ts')).moduleInstall,
  },
  {
    name: 'module-remove',
    summary: 'remove modules; their data stay, unless you purge them',
    arguments: '<name...>',
    load: async () => (await import('./module-remove.ts')).moduleRemove,
  },
  {
    name: 'module-upgrade',
    summary: 'install newer versions of modules: in the range of their installation, or a named version',
    arguments: '[name...]',
    load: async () => (await import('./module-upgrade.ts')).moduleUpgrade,
  },
  {
    name: 'module-enable',
    summary: 'enable disabled modules',
    arguments: '<name...>',
    load: async () => (await import('./module-enable.ts')).moduleEnable,
  },
  {
    name: 'module-disable',
    summary: 'disable modules; their code and data stay',
    arguments: '<name...>',
    load: async () => (await import('./module-disable.ts')).moduleDisable,
  },
  {
    name: 'module-rollback',
    summary: 'go back to the previous generation, or to a named one',
    arguments: '[generation]',
    load: async () => (await import('./module-rollback.ts')).moduleRollback,
  },
  {
    name: 'module-history',
    summary: 'list all generations with their time, command and changes',
    load: async () => (await import('./module-history.ts')).moduleHistory,
  },
  {
    name: 'module-list',
    summary: 'list installed modules: name, version, state, routes; or modules with newer versions',
    load: async () => (await import('./module-list.ts')).moduleList,
  },
  {
    name: 'module-info',
    summary: 'show a module, installed or not: routes, access, tables, contracts, size, source and hashes',
    arguments: '<spec>',
    load: async () => (await import('./module-info.ts')).moduleInfo,
  },
  {
    name: 'module-new',
    summary: 'create the package of a new module, with routes, a table, events and tests',
    arguments: '<name>',
    load: async () => (await import('./module-new.ts')).moduleNew,
  },
  {
    name: 'module-manifest',
    summary: "write a module's manifest from its code",
    arguments: '[path...]',
    load: async () => (await import('./module-manifest.ts')).moduleManifest,
  },
  {
    name: 'module-check',
    summary: 'check a module as its author: files, migrations, routes, isolation, errors; on both engines',
    arguments: '[path...]',
    load: async () => (await import('./module-check.ts')).moduleCheck,
  },
  {
    name: 'host-upgrade',
    summary: 'pin another host version; the next start of the application runs it',
    arguments: '[version]',
    load: async () => (await import('./host-upgrade.ts')).hostUpgrade,
  },
  {
    name: 'config',
    summary: 'show and change settings; a running host applies settings of modules at once',
    arguments: '<get|set|unset> [setting] [value]',
    load: async () => (await import('./config.ts')).config,
  },
  {
    name: 'audit',
    summary: 'show the audit trail: installations, status changes, deletions, tokens; newest first',
    load: async () => (await import('./audit.ts')).audit,
  },
  {
    name: 'events',
    summary: 'show the progress of event handlers; retry or discard failed events',
    arguments: '[replay|discard] [event]',
    load: async () => (await import('./events.ts')).events,
  },
  {
    name: 'work',
    summary: 'show the jobs of modules; retry or discard failed ones',
    arguments: '[replay|discard] [job]',
    load: async () => (await import('./work.ts')).work,
  },
  {
    name: 'doctor',
    summary: 'check the application: packages, leftovers, configuration, database, running host',
    load: async () => (await import('./doctor.ts')).doctor,
  },
  {
    name: 'backup',
    summary: 'back up data and lock file to one file; the application may run',
    arguments: '<file>',
    load: async () => (await import('./backup.ts')).backup,
  },
  {
    name: 'restore',
    summary: 'restore data and lock file from a backup, or the data of a purged module; stop the host first',
    arguments: '<file>',
    load: async () => (await import('./restore.ts')).restore,
  },
  {
    name: 'migrate-data',
    summary: 'move the data from SQLite to PostgreSQL; the application may run',
    load: async () => (await import('./migrate-data.ts')).migrateData,
  },
  {
    name: 'bundle',
    summary: 'write all installed packages to one file, to install elsewhere',
    arguments: '<file>',
    load: async () => (await import('./bundle.ts')).bundle,
  },
  {
    name: 'token',
    summary: 'print a JWT for a caller, signed with the secret of the application',
    arguments: '<subject>',
    load: async () => (await import('./token.ts')).token,
  },
  {
    name: 'openapi',
    summary: 'print the OpenAPI document of the installed modules',
    load: async () => (await import('./openapi.ts')).openapi,
  },
  {
    name: 'client',
    summary: 'write a typed client of the installed modules to a folder',
    arguments: '<folder>',
    load: async () => (await import('./client.ts')).client,
  },
]

/** `app host-upgrade` calls it. */
export const hiddenCommands: readonly ListedCommand[] = [
  {
    name: 'host-probe',
    summary: 'check this host with an application (app host-upgrade calls this)',
    load: async () => (await import('./host-probe.ts')).hostProbe,
  },
]
