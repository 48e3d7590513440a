import { defineFailure } from './define-failure.ts'
import { exitCodes, Failure } from './failure.ts'

export const busy = defineFailure(
  'busy',
  'busy',
  'Another command is changing this application: {owner}.',
  'Wait until it is done, then try again, or add --wait.',
)

export const lockFileInUse = defineFailure(
  'usage',
  'file-unreadable',
  '{file} is not the empty file that it should be.',
  'Nothing is lost with it: rm -r {file}, then run the command again.',
)

export const interrupted = defineFailure(
  'refused',
  'interrupted',
  'A command was interrupted, and its change is to be completed first.',
  'Run "app doctor --fix", which completes it, then try again.',
)

export const lockLost = defineFailure(
  'usage',
  'lock-lost',
  '{problem}. What is installed here is unknown, so nothing was changed.',
  'No record of it is left in .app/generations: restore the file from version control, or a backup with "app restore".',
)

export const lockLostRecordLeft = defineFailure(
  'usage',
  'lock-lost',
  '{problem}. What is installed here is unknown, so nothing was changed.',
  'Run "app doctor --fix": it restores {record}. Or restore the file from version control.',
)

export const lockChanged = defineFailure(
  'refused',
  'lock-changed',
  'Nothing was changed: modules.lock.json is not what generation {generation} has, which is in force here. Somebody changed it without a command, by git pull for example: {changes}.',
  'Run "app module-install" first, which puts it in force; or go back: app module-rollback',
)

export const lockDiffers = defineFailure(
  'refused',
  'lock-differs',
  '{difference}.',
  'Restore modules.lock.json from version control or from a backup.',
)

export const frozen = defineFailure(
  'refused',
  'frozen',
  'Nothing was installed: {reason}, and --frozen installs exactly what it names.',
  'Install it where the lock may change, commit modules.lock.json, then try again.',
)

export const installNotConfirmed = defineFailure(
  'refused',
  'declined',
  'Nothing was installed: it was not confirmed.',
  'Answer y, or add --yes.',
)

export const breaking = defineFailure(
  'refused',
  'breaking',
  '{names} is refused, since it breaks what is listed above, and --fail-on-breaking was given.',
  'Nothing was changed. Adapt the callers and modules that rely on it, then install it without --fail-on-breaking.',
)

export const breaksFormer = defineFailure(
  'refused',
  'breaks-former',
  'The upgrade of {module} to {next} is refused: on the schema that its migrations make, version {former} fails: {reason}. Requests would fail until the switch, and after a rollback.',
  'Nothing was changed. Tell the author of the module: what {former} uses stays in this version, and goes in a later one.',
)

export const breaksFormerOfYours = defineFailure(
  'refused',
  'breaks-former',
  'The upgrade of {module} to {next} is refused: on the schema that its migrations make, version {former} fails: {reason}. Requests would fail until the switch, and after a rollback.',
  'Nothing was changed. Leave what {former} uses in place in this version, and take it away in a later one.',
)

export const probeFailed = defineFailure(
  'refused',
  'probe-failed',
  '{problem}',
  'Nothing was changed. Tell the author of the module, or correct its settings in app.config.json.',
)

export const probeOfYoursFailed = defineFailure(
  'refused',
  'probe-failed',
  '{problem}',
  'Nothing was changed. Correct it in its folder, then install it again; --verbose shows where it comes from.',
)

export const wrongMigration = defineFailure(
  'refused',
  'migration-failed',
  'The module {id} is refused: {reason}',
  'Nothing was changed. Tell the author of the module.',
)

export const wrongMigrationOfYours = defineFailure(
  'refused',
  'migration-failed',
  'The module {id} is refused: {reason}',
  'Nothing was changed. Correct it in its folder, then install it again.',
)

export const hostRefusedMigration = defineFailure(
  'refused',
  'migration-failed',
  'The running host could not migrate the database: {reason}.',
  'The former modules stay in use. The author of the module has to correct the migration.',
)

export const hostFailedToMigrate = defineFailure(
  'unexpected',
  'migration-failed',
  'The running host could not migrate the database: {reason}.',
  'The former modules stay in use. The author of the module has to correct the migration.',
)

export const noRoomToMigrate = defineFailure(
  'refused',
  'disk-full',
  'The running host has no room to migrate its database: {reason}.',
  'The former modules stay in use, and reads go on. Make room on its disk, then run the command again.',
)

export const undoFailed = defineFailure(
  'unexpected',
  'undo-failed',
  'The former modules are back, but migrations could not be undone: {reason}',
  'The schema stays ahead of them, which does no harm. The next command that changes the application tries again.',
)

export const snapshotFailed = defineFailure(
  'refused',
  'snapshot-failed',
  'The database would be migrated, and the snapshot that goes before cannot be taken: {reason}',
  'Nothing was changed. A snapshot is as large as the database: make room for it, then try again.',
)

export const activationFailed = defineFailure(
  'activation',
  'activation-failed',
  'The running host could not take up the change: {reason}. {where}',
  'Correct what it says, then try again. {schema}',
)

export const restoredNotTakenUp = defineFailure(
  'activation',
  'activation-failed',
  'The store is in line with the lock again, but the running host could not take that up: {reason}. It serves as before.',
  'Correct what it says, then restart the host.',
)

export const moduleNotInstalled = defineFailure(
  'notFound',
  'not-installed',
  'The module {name} is not installed.',
  'To see what it would bring: app module-info {source}. To install it: app module-install {name}',
)

export const notInstalled = defineFailure(
  'notFound',
  'not-installed',
  '{name} is not installed.',
  'Installed are {installed}.',
)

export const nothingInstalled = defineFailure(
  'notFound',
  'not-installed',
  '{name} is not installed.',
  'Nothing is installed.',
)

export const nothingToBundle = defineFailure(
  'notFound',
  'nothing-installed',
  'There is nothing to bundle: nothing is installed.',
  'Install something first: app module-install api-cart',
)

export const storeIncomplete = defineFailure(
  'refused',
  'store-incomplete',
  'The store does not have {name} as it was installed: {reason}',
  'Run "app module-install" without a name: it brings the store in line with the lock.',
)

export const storeIncompleteForDryRun = defineFailure(
  'refused',
  'store-incomplete',
  'A dry run fetches nothing, and the store does not have all of generation {generation}: {missing}.',
  'Nothing was changed. Run it without --dry-run on a terminal: it fetches them, shows the plan and asks.',
)

export const otherTree = defineFailure(
  'refused',
  'integrity',
  '{name} {version} was fetched, but with its dependencies it is not what was installed: they may differ on this kind of machine.',
  'Install it on purpose to accept them: app module-remove {id}, then app module-install {spec}',
)

export const otherTreeOfHost = defineFailure(
  'refused',
  'integrity',
  '{name} {version} was fetched, but with its dependencies it is not what was installed: they may differ on this kind of machine.',
  'Install it on purpose to accept them: app host-upgrade {version}',
)

export const idTaken = defineFailure(
  'refused',
  'id-taken',
  'The package {name} is refused: the module "{id}" is installed already, from the package {installed}.',
  'Remove it first, if this one is to take its place: app module-remove {id}',
)

export const conflict = defineFailure(
  'refused',
  'conflict',
  'The module {id} is refused: {reason}.',
  'Remove the other module first ("app module-remove"), or leave this one out.',
)

export const invalidSettings = defineFailure(
  'refused',
  'invalid-settings',
  'The module {id} is refused: {reason}.',
  'Correct the settings in app.config.json first.',
)

export const contractConflict = defineFailure(
  'refused',
  'contract-conflict',
  'The module {id} is refused: {reason}.',
  'Leave one of the modules out, or remove it first ("app module-remove").',
)

export const contractMissing = defineFailure(
  'refused',
  'contract-missing',
  'The module {module} requires the contract "{contract}" ({range}), and {reason}.',
  'Install a module whose "provides" names it, in the same command or before.',
)

export const contractOutOfRange = defineFailure(
  'refused',
  'contract-missing',
  'The module {module} requires the contract "{contract}" ({range}), and {reason}.',
  'Install a version of {others} that provides {contract} {range} in the same command.',
)

export const required = defineFailure(
  'refused',
  'required',
  '{names} cannot be {what}: {module} requires the contract "{contract}" of it.',
  'Nothing was changed. Name {module} in the same command, or do it to that one before.',
)

export const hostRange = defineFailure(
  'refused',
  'host-range',
  'The module {id} is refused: it runs on hosts {range}, and this one is {version}.',
  'Install a version of the module that is made for this host.',
)

export const peerMissing = defineFailure(
  'refused',
  'peer-missing',
  'The package {target} is refused: its peer dependency {peer} is not among what the host lends ({lent}).',
  'Nothing was changed. The module has to name it among its dependencies instead.',
)

export const peerRange = defineFailure(
  'refused',
  'peer-range',
  'The package {target} is refused: it needs {peer} {range}, and the host lends {lent}.',
  'Install a version of the module that is made for this host.',
)

export const hostLeavesModules = defineFailure(
  'refused',
  'host-range',
  'The host {version} is refused: {needs}.',
  'Upgrade them first (app module-upgrade {ids}), or switch them off: in the same change with "app host-upgrade --disable-incompatible", or before it with "app module-disable".',
)

export const hostMissing = defineFailure(
  'refused',
  'host-incomplete',
  'The host {version} that modules.lock.json names is missing in the store, so nothing can be held against it.',
  'Run "app module-install" without a name first: it brings the store in line with the lock.',
)

export const hostAltered = defineFailure(
  'refused',
  'host-incomplete',
  'The host {version} in the store is not what was installed: its files differ.',
  'Run "app module-install" without a name: it brings the store in line with the lock.',
)

export const hostTrialFailed = defineFailure(
  'refused',
  'host-refused',
  'The host {version} is refused: {reason}',
  'Nothing was changed. Correct what it says; a module that stands in its way can be upgraded or switched off first (app module-disable).',
)

export const localModule = defineFailure(
  'usage',
  'usage',
  '{id} was installed from {spec}, which has no other versions.',
  'Install the other folder or file: app module-install <path>',
)

export const noVersion = defineFailure('usage', 'usage', '"{text}" is no version.', 'Write name@1.2.3.')

export const notUndoable = defineFailure(
  'refused',
  'not-undoable',
  'The application cannot go back: {reason}',
  'Nothing was changed. Go on with a newer version of the module, or restore a backup: app restore',
)

export const irreversible = defineFailure(
  'refused',
  'irreversible',
  'The application cannot go back to generation {generation}: the migration {migration} of {module} cannot be undone.',
  'Nothing was changed. Go on with a newer version of {module} instead, or restore a backup that was made before it.',
)

export const irreversibleSnapshotLeft = defineFailure(
  'refused',
  'irreversible',
  'The application cannot go back to generation {generation}: the migration {migration} of {module} cannot be undone.',
  'Nothing was changed. Go on with a newer version of {module} instead, or lose what was written since {at}: app module-rollback {generation} --restore-snapshot',
)

export const generationUnreadable = defineFailure(
  'notFound',
  'generation-unreadable',
  'The application cannot go back to generation {generation}: {reason}',
  'Put the file back from a backup of the folder, or go back to another one: app module-history',
)

export const noSuchGeneration = defineFailure(
  'notFound',
  'no-such-generation',
  'There is no generation {generation}.',
  'See what there was: app module-history',
)

export const noFormerGeneration = defineFailure(
  'notFound',
  'no-such-generation',
  'There is no former generation to go back to.',
  'See what there was: app module-history',
)

export const newerHostServes = defineFailure(
  'refused',
  'host-running',
  'Generation {generation} has a former host, and the tables of a newer one are needed until that ends: {hosts}.',
  'Nothing was changed. Stop it, run the command again, then start the application. One that was killed counts for half a minute.',
)

/** What an older generation had cannot be fetched: `cause` says why, and its code stays. */
export function formerNotFetched(cause: Failure, generation: number, kept: number): Failure {
  return new Failure(
    cause.exitCode === exitCodes.refused ? 'refused' : 'notFound',
    cause.code,
    `The application cannot go back to generation ${generation}: the store no longer has all of it, and it cannot be fetched again. ${cause.message}`,
    `Put back what it came from, or install another version. The store keeps the last ${kept} generations.`,
    { cause },
  )
}

/** A lock that came from outside is refused: `cause` says why, and its code stays. */
export function formerStays(cause: Failure, generation: number): Failure {
  return new Failure(
    cause.exitCode === exitCodes.activation ? 'activation' : 'refused',
    cause.code,
    `${cause.message} Generation ${generation} stays in force.`,
    `${cause.hint} modules.lock.json is left as it is, and the next start would run it: restore the former file (git checkout), or go back with "app module-rollback".`,
    { cause },
  )
}
