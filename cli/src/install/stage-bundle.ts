import { readdir, readFile, rename, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { Failure } from '../failure.ts'
import { type Lock, type LockedModule, readLock, readPackage } from '../host.ts'
import { bundleLimits, largestBundle } from './bundle-file.ts'
import type { Candidate } from './candidate.ts'
import { checkContents } from './checks/contents.ts'
import { readPackageJson } from './dependencies.ts'
import type { Source } from './source.ts'
import { makeStaging, seal } from './staging.ts'
import { unpack } from './unpack.ts'

/**
 * Unpacks a bundle into staging and accepts what its lock names, and nothing else: to the byte, each module is
 * what was bundled.
 * @throws {Failure} @throws {ManifestError}
 */
export async function stageBundle(source: Source, directory: string): Promise<Candidate[]> {
  const { target } = source
  if ((await stat(target)).size > largestBundle) {
    throw refused(target, 'unsafe-package', `it is larger than ${largestBundle / 1024 / 1024} MiB`)
  }
  const staging = await makeStaging(directory)
  await unpack(await readFile(target), staging, target, bundleLimits)
  const { modules } = await readBundledLock(staging, target)
  await checkNames(staging, Object.keys(modules), target)
  const candidates: Candidate[] = []
  for (const [id, locked] of Object.entries(modules)) {
    const place = await makeStaging(directory)
    await rename(join(staging, 'modules', id), place)
    candidates.push(await candidateOf(id, locked, place, source))
  }
  return candidates
}

async function readBundledLock(staging: string, what: string): Promise<Lock> {
  try {
    return await readLock(staging)
  } catch (error) {
    throw refused(
      what,
      'unsafe-package',
      `its lock is none: ${(error as Error).message.split(': restore')[0]}`,
    )
  }
}

/** What lies in it is the lock and a folder for each module, whose id is no path. */
async function checkNames(staging: string, ids: readonly string[], what: string): Promise<void> {
  const isRight = (present: readonly string[], expected: readonly string[]) =>
    present.toSorted().join('/') === expected.toSorted().join('/')
  const wrong = ids.find((id) => !/^[a-z][a-z0-9-]*$/.test(id))
  if (wrong !== undefined)
    throw refused(what, 'unsafe-package', `${JSON.stringify(wrong)} is no id of a module`)
  const inside = await readdir(join(staging, 'modules')).catch(() => [])
  if (isRight(await readdir(staging), ['modules', 'modules.lock.json']) && isRight(inside, ids)) return
  throw refused(what, 'unsafe-package', 'it holds other modules than its lock names')
}

async function candidateOf(
  id: string,
  locked: LockedModule,
  place: string,
  source: Source,
): Promise<Candidate> {
  const what = `${id} in ${source.target}`
  await checkContents(place, what)
  const found = await readPackage(place)
  const { integrity, spec, signed, dependencies, enabled } = locked
  const sealed = await seal(place, what)
  const isSame =
    found.manifest.id === id &&
    found.name === locked.package &&
    found.version === locked.version &&
    sealed.tree === locked.tree
  if (!isSame) throw refused(what, 'integrity', 'its files are not those that the lock of the bundle names')
  return {
    source: { ...source, package: found.name, record: () => spec },
    from: source.target,
    integrity,
    signed,
    enabled,
    package: found,
    json: await readPackageJson(place),
    dependencies,
    ...sealed,
  }
}

function refused(what: string, code: string, reason: string): Failure {
  return new Failure(
    'refused',
    code,
    `The bundle ${what} is refused: ${reason}.`,
    'Nothing was changed. Make the bundle again where it comes from: app bundle <file>',
  )
}
