import type { Command, ListedCommand } from '../terminal/command.ts'

// What the general help prints of each command. The rest is in its file, which is loaded with all
// that the command needs only if the command is named.

const shortNames = 'install list remove upgrade rollback enable disable pause info'.split(' ')

/** @param usage the name and the positional arguments in commander's syntax: `info <spec>` */
function listed(usage: string, summary: string): ListedCommand {
  const [name = '', ...words] = usage.split(' ')
  const load = async () => ((await import(`./${name}.ts`)) as { readonly command: Command }).command
  const short = name.replace(/^module-/, '')
  const alias = short !== name && shortNames.includes(short) ? short : undefined
  return { name, alias, summary, arguments: words.join(' '), load }
}

export const commands: readonly ListedCommand[] = [
  listed('init [dir]', 'create an application folder: config, secret, data folder, .gitignore'),
  listed('start', 'run the application'),
  listed('restart', 'replace the processes of "app start --workers" one by one; no request fails'),
  listed(
    'module-install [spec...]',
    'install modules as one change; without a name: restore the store from the lock file',
  ),
  listed('module-remove <name...>', 'remove modules; their data stay, unless you purge them'),
  listed(
    'module-upgrade [name...]',
    'install newer versions of modules: in the range of their installation, or a named version',
  ),
  listed('module-enable <name...>', 'enable disabled modules'),
  listed('module-disable <name...>', 'disable modules; their code and data stay'),
  listed('module-pause <name>', 'pause a module for a time: its routes return 503, its work waits'),
  listed('module-rollback [generation]', 'go back to the previous generation, or to a named one'),
  listed('module-history', 'list all generations with their time, command and changes'),
  listed(
    'module-list',
    'list installed modules: name, version, state, routes; or modules with newer versions',
  ),
  listed(
    'module-info <spec>',
    'show a module, installed or not: routes, access, tables, contracts, size, source and hashes',
  ),
  listed(
    'search <words...>',
    'find modules: of this command, aliases, and registries; with publisher, age and origin',
  ),
  listed('module-new <name>', 'create the package of a new module, with routes, a table, events and tests'),
  listed('module-manifest [path...]', "write a module's manifest from its code"),
  listed(
    'module-check [path...]',
    'check a module as its author: files, migrations, routes, isolation, errors; on both engines',
  ),
  listed('host-upgrade [version]', 'pin another host version; the next start of the application runs it'),
  listed(
    'config <get|set|unset> [setting] [value]',
    'show and change settings; a running host applies settings of modules at once',
  ),
  listed('audit', 'show the audit trail: installations, status changes, deletions, tokens; newest first'),
  listed(
    'events [replay|discard] [event]',
    'show the progress of event handlers; retry or discard failed events',
  ),
  listed('work [replay|discard] [job]', 'show the jobs of modules; retry or discard failed ones'),
  listed('doctor', 'check the application: packages, leftovers, configuration, database, running host'),
  listed(
    'backup [file] [archive]',
    'back up data and lock file to one file, now or at intervals; "backup verify" proves that one restores',
  ),
  listed(
    'restore <file>',
    'restore data and lock file from a backup, or the data of a purged module; stop the host first',
  ),
  listed('migrate-data', 'move the data from SQLite to PostgreSQL; the application may run'),
  listed('bundle <file>', 'write all installed packages to one file, to install elsewhere'),
  listed('token <subject>', 'print a JWT for a caller, signed with the secret of the application'),
  listed('mcp <subject>', 'print how an agent connects to the tools of api-mcp, with a token for a caller'),
  listed(
    'console [subject]',
    'print and open a link into the console (web-console): valid once, for a minute',
  ),
  listed('sbom', 'print the software bill of materials (CycloneDX) of what is installed'),
  listed(
    'secret <rotate>',
    'replace the secret that signs tokens; present tokens stay valid until they expire',
  ),
  listed('openapi', 'print the OpenAPI document of the installed modules'),
  listed('dev [path]', 'run a module from its folder, and switch to its new code on each save'),
  listed(
    'client <folder> [url]',
    'write a typed client of the installed modules to a folder; with a URL: of the application there',
  ),
]

/** `app host-upgrade` calls it. */
export const hiddenCommands: readonly ListedCommand[] = [
  listed('host-probe', 'check this host with an application (app host-upgrade calls this)'),
]
