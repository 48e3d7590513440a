import { define } from './define-failure.ts'

export const breaking = define.refused(
  'breaking',
  '{names} is refused: --fail-on-breaking is set, and the changes above are breaking.',
  'Nothing was changed. Adapt the callers and modules that depend on it, then install it without --fail-on-breaking.',
)

export const planChanged = define.refused(
  'plan-changed',
  'The plan differs from the one with the digest of --plan: what is installed, or what a name means, has changed.',
  'Nothing was changed. Read the present plan (--dry-run), and name its digest.',
)

export const newSource = define.refused(
  'new-source',
  'No code has run: {names} {are}, and nobody has agreed to {them}.',
  {
    package: 'Nothing was changed. Read the plan: add --dry-run. If you trust the source, add --yes.',
    archive: 'Nothing was changed. If you trust the archive and what it names, add --yes.',
  },
)

export const downgradeRefused = define.refused(
  'downgrade',
  '{id} {version} would be a downgrade: {known} was installed here, its migrations stay in the database, and its package is not available.',
  'Nothing was changed. Install that version: app module-install {spec}. To install {version}, add --yes.',
)

export const notInstalled = define.notFound('not-installed', '{name} is not installed.', {
  misspelt: 'Did you mean {near}?',
  installed: 'These are installed: {installed}.',
  path: 'Name an installed module. To install another version from there: app module-install {name}',
  nothing: 'Nothing is installed.',
})

export const idTaken = define.refused(
  'id-taken',
  'The package {name} is refused: the module "{id}" is already installed from the package {installed}.',
  'To replace it, remove it first: app module-remove {id}',
)

export const conflict = define.refused(
  'conflict',
  'The module {id} is refused: {reason}.',
  'Remove the other module first ("app module-remove"), or leave this one out.',
)

export const invalidSettings = define.refused(
  'invalid-settings',
  'The module {id} is refused: {reason}.',
  'Nothing was changed. Set it first, also if the module is not installed yet: app config set {id}.<setting> <value>. To remove one: app config unset {id}.<setting>',
)

export const contractConflict = define.refused(
  'contract-conflict',
  'The module {id} is refused: {reason}.',
  'Leave one of the modules out, or remove it first ("app module-remove").',
)

export const contractMissing = define.refused(
  'contract-missing',
  'The module {module} requires the contract "{contract}" ({range}): {reason}.',
  {
    none: 'Install a module whose "provides" names it, in the same command or earlier.',
    otherVersion: 'Install a version of {others} that provides {contract} {range} in the same command.',
  },
)

export const required = define.refused(
  'required',
  '{names} cannot be {what}: {module} requires the contract "{contract}" of it.',
  'Nothing was changed. Add {module} to the command, or run the command for {module} first.',
)

export const hostRange = define.refused(
  'host-range',
  'The module {id} is refused: it requires host {range}, and this host is {version}.',
  'Install a version of the module for this host.',
)

export const peerMissing = define.refused(
  'peer-missing',
  'The package {target} is refused: the host does not provide its peer dependency {peer}. It provides {provided}.',
  'Nothing was changed. The module has to list it in "dependencies".',
)

export const peerRange = define.refused(
  'peer-range',
  'The package {target} is refused: it needs {peer} {range}, and the host provides {provided}.',
  'Install a version of the module for this host.',
)

export const hostLeavesModules = define.refused(
  'host-range',
  'The host {version} is refused: {needs}.',
  'Upgrade them first (app module-upgrade {ids}), or disable them: in the same change with "app host-upgrade --disable-incompatible", or earlier with "app module-disable".',
)

export const noVersion = define.usage('usage', '"{text}" is not a version.', 'Write name@1.2.3.')
