import { emptyLock, type Lock, readConfig, readLock } from '@mortise/host'
import { valid } from 'semver'
import { requireInstalled } from '../store/installed-packages.ts'
import { Failure } from '../terminal/failure.ts'
import { type Installed, type InstallRequest, installSources } from './install-modules.ts'
import { resolveSpec, type Source } from './resolve/source.ts'

/**
 * Brings modules to the newest version in the range that they were installed with, or to a version that is named
 * (`api-cart@1.2.0`); all modules where none is named. A folder or file is looked at again. One change: all or
 * none. Run it while the application is locked.
 * @throws {Failure}
 */
export async function upgradeModules(request: InstallRequest, names: readonly string[]): Promise<Installed> {
  const lock = await readLock(request.directory)
  const wanted = names.length > 0 ? names : Object.keys(lock.modules)
  const { aliases } = await readConfig(request.directory)
  const sources = wanted.map((name) => upgradeSource(name, lock, request.directory, aliases))
  return await installSources(request, lock, sources)
}

/** Where an installed module is upgraded from. @param text an id or a package name, with `@version` or without */
export function upgradeSource(
  text: string,
  lock: Lock,
  directory: string,
  aliases: Readonly<Record<string, string>>,
): Source {
  const at = text.lastIndexOf('@')
  const [name, version] = at > 0 ? [text.slice(0, at), text.slice(at + 1)] : [text, undefined]
  const id = requireInstalled(lock, name)
  const { spec, package: packageName } = lock.modules[id] as Lock['modules'][string]
  const isLocal = spec.startsWith('file:')
  if (version !== undefined && (isLocal || valid(version) === null)) {
    throw new Failure(
      'usage',
      'usage',
      isLocal
        ? `${id} was installed from ${spec}, which has no other versions.`
        : `"${version}" is no version.`,
      isLocal ? 'Install the other folder or file: app module-install <path>' : 'Write name@1.2.3.',
    )
  }
  const consent = spec.startsWith('npm:') ? 'npm:' : ''
  const target = version === undefined ? spec : `${consent}${packageName}@${version}`
  // Nothing is pinned here: what is installed is what is to be left behind.
  const source = resolveSpec(target, { directory, cwd: directory, lock: emptyLock, aliases })
  return version === undefined ? { ...(source as Source), record: () => spec } : (source as Source)
}
