import { emptyLockFile, type LockFile } from '@mortise/application'
import { valid } from 'semver'
import { localModule, notInstalled, noVersion } from '../../failures/index.ts'
import { requireInstalled } from '../../store/installed-packages.ts'
import { resolveSpec, type Source } from './source.ts'

/** @param text an id or a package name, with or without `@version` */
export function upgradeSource(
  text: string,
  lock: LockFile,
  directory: string,
  aliases: Readonly<Record<string, string>>,
): Source {
  if (isPath(text)) throw notInstalled({ hint: 'path', name: text })
  const at = text.lastIndexOf('@')
  const [name, version] = at > 0 ? [text.slice(0, at), text.slice(at + 1)] : [text, undefined]
  const id = requireInstalled(lock, name)
  const { spec, package: packageName } = lock.modules[id] as LockFile['modules'][string]
  const isLocal = spec.startsWith('file:')
  if (version !== undefined && (isLocal || valid(version) === null)) {
    throw isLocal ? localModule({ id, spec }) : noVersion({ text: version })
  }
  const consent = spec.startsWith('npm:') ? 'npm:' : ''
  const target = version === undefined ? spec : `${consent}${packageName}@${version}`
  // Ignores the installed version, because the upgrade replaces it.
  const source = resolveSpec(target, { directory, cwd: directory, lock: emptyLockFile, aliases })
  return version === undefined ? { ...(source as Source), record: () => spec } : (source as Source)
}

const isPath = (text: string) => /^[^@].*\/|^\/|\.(?:tgz|tar\.gz)$/.test(text)
