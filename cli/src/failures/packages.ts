import { defineFailure } from './define-failure.ts'

export const invalidSpec = defineFailure(
  'usage',
  'invalid-spec',
  '"{text}" is no module: {reason}.',
  'Write a name, a folder (./my-module), a .tgz file, @scope/name@range or npm:name@range.',
)

export const fileOfPackage = defineFailure(
  'usage',
  'invalid-spec',
  '"{text}" is a file of a package, not the package.',
  'Name the folder that it lies in: {folder}',
)

export const refusedSource = defineFailure(
  'refused',
  'refused-source',
  '"{text}" is refused: modules are not installed from git, from a URL or under another name.',
  'Publish the package, or pack it with "npm pack" and install the .tgz file.',
)

export const refusedPath = defineFailure(
  'refused',
  'refused-source',
  '"{text}" is refused: modules are not installed from git, from a URL or under another name.',
  'For the folder or file of that name write ./{text}.',
)

export const bareAlias = defineFailure(
  'refused',
  'refused-source',
  'The alias "{name}" in app.config.json means "{target}", itself a bare name.',
  'Write "npm:{target}" there, if you mean the package of that name on the registry.',
)

export const noSuchPath = defineFailure(
  'notFound',
  'no-such-file',
  '"{text}" is not there: {path} does not exist.',
  'Check the path.',
)

export const noPackageInFolder = defineFailure(
  'notFound',
  'no-such-file',
  '"{text}" is no package: {path} holds no package.json.',
  'Name the folder that holds the package.json of the module.',
)

export const noRegistryFolder = defineFailure(
  'notFound',
  'no-such-file',
  'The registry "file:{folder}" of .npmrc is no folder.',
  'Correct the path: it is relative to the application folder.',
)

export const notBuilt = defineFailure(
  'notFound',
  'not-built',
  'The package {name} is a folder of this checkout that is not built: {folder} has no dist.',
  'Run "npm run build" in the checkout, then try again.',
)

export const unknownModule = defineFailure(
  'notFound',
  'unknown-module',
  'There is no module "{name}": it is not installed, no alias in app.config.json and not in the index.',
  'Known are {known}. For a package of the npm registry write npm:{name}.',
)

export const misspeltModule = defineFailure(
  'notFound',
  'unknown-module',
  'There is no module "{name}": it is not installed, no alias in app.config.json and not in the index.',
  'Did you mean {near}?',
)

export const noSuchVersion = defineFailure(
  'notFound',
  'no-such-version',
  'The registry has no {target}.',
  'Check the name and the range; a private registry belongs into .npmrc.',
)

export const otherVersion = defineFailure(
  'notFound',
  'no-such-version',
  'There is no {name}@{range} at {target}: what is there is version {version}.',
  'Ask for a version that is there.',
)

export const unauthorized = defineFailure(
  'notFound',
  'unauthorized',
  '{target} cannot be fetched: its registry does not accept the credentials ({reason}).',
  'Nothing was changed. Correct the token in .npmrc: //registry.example/:_authToken=…',
)

export const offline = defineFailure(
  'notFound',
  'offline',
  '{target} cannot be had with --offline: the cache of npm does not have it.',
  'Install a folder, a .tgz file or a bundle, name a directory of tarballs in .npmrc (registry=file:./packages), or leave --offline out.',
)

export const dependenciesOffline = defineFailure(
  'notFound',
  'offline',
  'The dependencies of {target} cannot be had with --offline: the cache of npm does not have them.',
  'Nothing was changed. Install a bundle, name a directory of tarballs in .npmrc (registry=file:./packages), or leave --offline out.',
)

export const unreachable = defineFailure(
  'notFound',
  'unreachable',
  'The package {target} cannot be fetched: {reason}',
  'Nothing was changed. Check the network and the registry in .npmrc, then try again.',
)

export const dependenciesUnreachable = defineFailure(
  'notFound',
  'unreachable',
  'The dependencies of {target} cannot be fetched: {reason}',
  'Nothing was changed. Check the network and the registry in .npmrc, then try again.',
)

export const refusedDependency = defineFailure(
  'refused',
  'refused-dependency',
  'The package {target} is refused: it depends on something that is not on a registry: {reason}',
  'Nothing was changed. Dependencies come from a registry or are bundled, not from git, a URL or a file.',
)

export const alteredDependency = defineFailure(
  'refused',
  'integrity',
  'The package {target} is refused: one of its dependencies is not what its registry says: {reason}',
  'Nothing was changed. Try again; if it stays so, somebody has altered the package.',
)

export const alteredPackage = defineFailure(
  'refused',
  'integrity',
  'The package {target} is refused: what came is not what its registry (or the lock) says: {reason}',
  'Nothing was changed. Try again; if it stays so, somebody has altered the package.',
)

export const otherPackageThanLocked = defineFailure(
  'refused',
  'integrity',
  'The package {from} is not what modules.lock.json has: its integrity is {found}, not {expected}.',
  'Put the former package back there, or install another version of it.',
)

export const otherFolderThanLocked = defineFailure(
  'refused',
  'integrity',
  'The package {from} is not what modules.lock.json has: its integrity is {found}, not {expected}.',
  'Put the former files back there, or install these on purpose: app module-install {target}',
)

export const otherBytes = defineFailure(
  'refused',
  'integrity',
  'The package {target} is refused: it is not the {target} that {where} has. Its integrity is {found}, not {expected}.',
  'Nothing was changed. One version has one content: raise the version of the package if it is yours, else ask its author why it differs.',
)

export const otherName = defineFailure(
  'refused',
  'integrity',
  'The package {target} is refused: it calls itself {name}, not {expected}.',
  'Nothing was changed. Tell the author of the module.',
)

export const noIntegrity = defineFailure(
  'refused',
  'integrity',
  'The package {target} is refused: its registry publishes no SHA-512 integrity of it, so it cannot be verified.',
  'Use a registry that publishes one, or install a .tgz file that you trust.',
)

export const otherFilesInBundle = defineFailure(
  'refused',
  'integrity',
  'The bundle {file} is refused: its files are not those that the lock of the bundle names.',
  'Nothing was changed. Make the bundle again where it comes from: app bundle <file>',
)

export const wrongSignature = defineFailure(
  'refused',
  'signature',
  'The package {target} is refused: its signature or provenance is wrong: {reason}',
  'Nothing was changed. Somebody may have altered the package: ask its author.',
)

export const signatureGone = defineFailure(
  'refused',
  'signature',
  'The package {target} is refused: it has no {lost}, and {installed}, which is installed, has one.',
  'Ask its author before anything else. To accept it all the same, pack it and install the .tgz file.',
)

export const unsafePackage = defineFailure(
  'refused',
  'unsafe-package',
  'The package {target} is refused: {reason}.',
  'Nothing was changed. Correct the package if it is yours, or tell its author.',
)

export const unsafeAnswer = defineFailure(
  'refused',
  'unsafe-package',
  'The package {target} is refused: {reason}.',
  'Nothing was changed. Tell the operator of the registry.',
)

export const packageTooLarge = defineFailure(
  'refused',
  'unsafe-package',
  'The package {target} is refused: its tarball is larger than {most} MiB.',
  'Nothing was changed. If the package is yours, name in its "files" only what it needs; else tell its author.',
)

export const unsafeBundle = defineFailure(
  'refused',
  'unsafe-package',
  'The bundle {file} is refused: {reason}.',
  'Nothing was changed. Make the bundle again where it comes from: app bundle <file>',
)

export const backupIsNoPackage = defineFailure(
  'refused',
  'unsafe-package',
  '{file} cannot be installed: it is a backup, or the archive of a module that was purged, and no package.',
  'Nothing was changed. Put it back: app restore {file}',
)

export const noManifest = defineFailure(
  'refused',
  'invalid-manifest',
  'The package {reason}',
  'Nothing was changed. Modules are packages that have one: {indexed}, a folder or .tgz file of yours, or packages of a registry that were written for Mortise.',
)

export const noManifestOfYours = defineFailure(
  'refused',
  'invalid-manifest',
  'The package {reason}',
  'Add it: "mortise" with "id", "host" and "routes".',
)

export const wrongManifest = defineFailure(
  'refused',
  'invalid-manifest',
  'The package {target} is refused: {reason}',
  'Nothing was changed. Tell the author of the module.',
)

export const wrongManifestOfYours = defineFailure(
  'refused',
  'invalid-manifest',
  'The package {target} is refused: {reason}',
  'Correct it there, then try again.',
)

export const noEntry = defineFailure(
  'refused',
  'no-entry',
  'The module {id} is refused: {reason}.',
  'Nothing was changed. Tell the author of the module.',
)

export const entryNotPacked = defineFailure(
  'refused',
  'no-entry',
  'The module {id} is refused: {reason}.',
  'It is in the folder, but not packed: name it in "files" of package.json.',
)

export const entryNotBuilt = defineFailure(
  'refused',
  'no-entry',
  'The module {id} is refused: {reason}.',
  'Build it first, and check "files" in its package.json.',
)

export const noHost = defineFailure(
  'refused',
  'no-host',
  'The package {target} is refused: {reason}.',
  'Nothing was changed. Name a version of the host, or a folder or .tgz file that holds one.',
)

export const manifestDiffers = defineFailure(
  'refused',
  'manifest-differs',
  'The manifest is not what the code says: {where}.',
  'Run "app module-manifest" with the same paths, and commit what it writes.',
)
