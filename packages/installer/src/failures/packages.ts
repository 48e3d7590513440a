import { define } from './define-failure.ts'

export const invalidSpec = define.usage(
  'invalid-spec',
  '"{text}" is not a module: {reason}.',
  'Write a name, a folder (./my-module), a .tgz file, @scope/name@range or npm:name@range.',
)

export const fileOfPackage = define.usage(
  'invalid-spec',
  '"{text}" is a file of a package, not the package.',
  'Name its folder: {folder}',
)

export const refusedSource = define.refused(
  'refused-source',
  '"{text}" is refused: modules cannot be installed from git, from a URL or under another name.',
  {
    package: 'Publish the package, or pack it with "npm pack" and install the .tgz file.',
    path: 'If you mean a folder or file, write ./{text}.',
  },
)

export const bareAlias = define.refused(
  'refused-source',
  'The alias "{name}" in app.config.json means "{target}", which is also a bare name.',
  'If you mean the package on the registry, write "npm:{target}" there.',
)

export const noSuchPath = define.notFound(
  'no-such-file',
  '"{text}" was not found: {path} does not exist.',
  'Check the path.',
)

export const noPackageInFolder = define.notFound(
  'no-such-file',
  '"{text}" is not a package: {path} has no package.json.',
  'Name the folder with the package.json of the module.',
)

export const noRegistryFolder = define.notFound(
  'no-such-file',
  'The registry "file:{folder}" in .npmrc is not a folder.',
  'Correct the path: it is relative to the application folder.',
)

export const notBuilt = define.notFound(
  'not-built',
  'The package {name} in this checkout is not built: {folder} has no dist.',
  'Run "npm run build" in the checkout, then try again.',
)

export const notShipped = define.notFound(
  'no-such-version',
  'The command does not contain {target}: its version of {name} is {version}.',
  {
    other: 'To take it from its registry, write its full name: {target}',
    none: 'The command was packed without its modules. Install a published version of it, or write the full name: {target}',
  },
)

export const unknownModule = define.notFound(
  'unknown-module',
  'Unknown module "{name}": it is not installed, not an alias in app.config.json, and does not come with Mortise.',
  {
    known: 'Known modules: {known}. For a package on the npm registry, write npm:{name}.',
    misspelt: 'Did you mean {near}?',
  },
)

export const noSuchVersion = define.notFound(
  'no-such-version',
  'The registry has no {target}.',
  'Check the name and the range. Set a private registry in .npmrc.',
)

export const otherVersion = define.notFound(
  'no-such-version',
  '{target} has {name} {version}, which is not in the range {range}.',
  'Name a version that it has.',
)

export const unauthorized = define.notFound(
  'unauthorized',
  '{target} cannot be downloaded: its registry does not accept the credentials ({reason}).',
  'Nothing was changed. Correct the token in .npmrc: //registry.example/:_authToken=…',
)

export const offline = define.notFound(
  'offline',
  "{target} is not available with --offline: npm's cache does not have it.",
  'Install a folder, a .tgz file or a bundle, set a folder of tarballs in .npmrc (registry=file:./packages), or leave --offline out.',
)

export const dependenciesOffline = define.notFound(
  'offline',
  "The dependencies of {target} are not available with --offline: npm's cache does not have them.",
  'Nothing was changed. Install a bundle, set a folder of tarballs in .npmrc (registry=file:./packages), or leave --offline out.',
)

export const unreachable = define.notFound(
  'unreachable',
  'The package {target} cannot be downloaded: {reason}',
  'Nothing was changed. Check the network and the registry in .npmrc, then try again.',
)

export const dependenciesUnreachable = define.notFound(
  'unreachable',
  'The dependencies of {target} cannot be downloaded: {reason}',
  'Nothing was changed. Check the network and the registry in .npmrc, then try again.',
)

export const nothingChecked = define.notFound(
  'unreachable',
  'No module could be checked for a newer version: no source can be reached.',
  'Check the network and the registry in .npmrc, and whether the files and folders exist, then try again.',
)

export const refusedDependency = define.refused(
  'refused-dependency',
  'The package {target} is refused: it has a dependency that does not come from a registry: {reason}',
  'Nothing was changed. Dependencies have to come from a registry or be bundled; git, URLs and files are not allowed.',
)

export const alteredDependency = define.refused(
  'integrity',
  'The package {target} is refused: the integrity of a dependency differs from its registry: {reason}',
  'Nothing was changed. Try again. If it fails again, the package was altered.',
)

export const alteredPackage = define.refused(
  'integrity',
  'The package {target} is refused: its integrity differs from its registry or the lock file: {reason}',
  'Nothing was changed. Try again. If it fails again, the package was altered.',
)

export const alteredInCommand = define.refused(
  'integrity',
  'The package {target}, a part of the command, was altered: its integrity is {found}, not {expected}.',
  'Nothing was changed. Install the command again.',
)

export const otherBytesThanLocked = define.refused(
  'integrity',
  'The package {from} differs from modules.lock.json: its integrity is {found}, not {expected}.',
  {
    package: 'Restore the previous package there, or install another version of it.',
    folder: 'Restore the previous files there, or accept the new ones: app module-install {target}',
  },
)

export const otherBytes = define.refused(
  'integrity',
  'The package {target} is refused: it differs from the {target} in {where}. Its integrity is {found}, not {expected}.',
  'Nothing was changed. A version never changes its content. If the package is yours, raise its version; if not, ask its author why it differs.',
)

export const otherName = define.refused(
  'integrity',
  'The package {target} is refused: its name is {name}, not {expected}.',
  'Nothing was changed. Report it to the author of the module.',
)

export const noIntegrity = define.refused(
  'integrity',
  'The package {target} is refused: its registry publishes no SHA-512 integrity for it, so it cannot be verified.',
  'Use a registry that publishes one, or install a .tgz file that you trust.',
)

export const otherFilesInBundle = define.refused(
  'integrity',
  'The bundle {file} is refused: its files differ from its lock file.',
  'Nothing was changed. Create the bundle again on the machine where you made it: app bundle <file>',
)

export const wrongSignature = define.refused(
  'signature',
  'The package {target} is refused: its signature or provenance is wrong: {reason}',
  'Nothing was changed. The package may have been altered: ask its author.',
)

export const tooNew = define.refused(
  'too-new',
  'The package {target} is refused: it was published at {published}, less than {hours} hours ago.',
  'Nothing was changed. It can be installed from {installable}: malware is usually found within hours. If you trust it now: --allow-new',
)

export const signatureGone = define.refused(
  'signature',
  'The package {target} is refused: it has no {lost}, and the installed {installed} has one.',
  'Ask its author first. To accept it anyway, pack it and install the .tgz file.',
)

export const unsafePackage = define.refused(
  'unsafe-package',
  'The package {target} is refused: {reason}.',
  'Nothing was changed. If the package is yours, correct it; if not, report it to its author.',
)

export const unsafeRegistry = define.refused(
  'unsafe-package',
  'The package {target} is refused: {reason}.',
  'Nothing was changed. Report it to the operator of the registry.',
)

export const packageTooLarge = define.refused(
  'unsafe-package',
  'The package {target} is refused: its tarball is larger than {most} MiB.',
  'Nothing was changed. If the package is yours, list only the files it needs in "files"; if not, report it to its author.',
)

export const unsafeBundle = define.refused(
  'unsafe-package',
  'The bundle {file} is refused: {reason}.',
  'Nothing was changed. Create the bundle again on the machine where you made it: app bundle <file>',
)

export const backupIsNoPackage = define.refused(
  'unsafe-package',
  '{file} cannot be installed: it is a backup or the archive of a purged module, not a package.',
  'Nothing was changed. Restore it: app restore {file}',
)

export const noManifest = define.refused('invalid-manifest', 'The package {reason}', {
  others:
    'Nothing was changed. A module has a manifest. Install {indexed}, a folder or .tgz file of yours, or a package that was written for Mortise.',
  own: 'Add it: "mortise" with "id", "host" and "routes".',
})

export const wrongManifest = define.refused('invalid-manifest', 'The package {target} is refused: {reason}', {
  others: 'Nothing was changed. Report it to the author of the module.',
  own: 'Correct package.json, then try again.',
})

export const noEntry = define.refused('no-entry', 'The module {id} is refused: {reason}.', {
  others: 'Nothing was changed. Report it to the author of the module.',
  notPacked: 'The file is in the folder, but not packed: add it to "files" in package.json.',
  notBuilt: 'Build the module first, and check "files" in its package.json.',
})

export const noHost = define.refused(
  'no-host',
  'The package {target} is refused: {reason}.',
  'Nothing was changed. Name a version of the host, or a folder or .tgz file with a host.',
)

export const checkFailed = define.refused(
  'check-findings',
  'The check has findings: {count}.',
  'Follow the advice below each finding, then check again. "app module-check --fix" corrects some.',
)

export const checkIncomplete = define.refused(
  'check-incomplete',
  'The check has found nothing so far, but it ran out of time.',
  'Make the slow routes respond sooner, or check again on a machine with less to do. --no-postgres halves the work.',
)

export const testkitMissing = define.notFound(
  'testkit-missing',
  'The check is part of @mortise/module-testkit, which is neither in {folder} nor in this folder.',
  'Install it next to your code: npm install --save-dev @mortise/module-testkit',
)

export const manifestDiffers = define.refused(
  'manifest-differs',
  'The manifest differs from the code: {where}.',
  'Run "app module-manifest" with the same paths, and commit the result.',
)
