import { type LockedModule, readConfig, readLockFile } from '@mortise/application'
import { asFailure } from '../reporting/explain.ts'
import { asking, fetchPackage } from './fetch/fetch-package.ts'
import { readDescription } from './fetch/local-registry.ts'
import { loadPacote, type NpmOptions } from './fetch/npm-libraries.ts'
import { npmOptions } from './fetch/npm-options.ts'
import { type AgeLimit, ageLimit, chooseVersion, type DatedPackage, noAges } from './fetch/release-age.ts'
import type { Source } from './resolve/source.ts'
import { upgradeSource } from './resolve/upgrade-source.ts'

export interface Newer {
  /** What `module-upgrade` would install; for a folder or file, the version there. */
  readonly wanted: string | null
  /** The registry's `latest` version, whatever the range. */
  readonly latest: string | null
  /** Whether `module-upgrade` would change anything, even if only files of the same version. */
  readonly outdated: boolean
  /** A newer version in the range that is too young yet. */
  readonly waiting: DatedPackage | null
  readonly unreachable: string | null
}

/** Checks the source of every installed module. An unreachable one is not a failure. */
export async function findNewer(directory: string): Promise<ReadonlyMap<string, Newer>> {
  const lock = await readLockFile(directory)
  const { aliases, install } = await readConfig(directory)
  const limit = ageLimit(install.minAgeHours, false, Object.values(lock.modules))
  const npm = await npmOptions(directory)
  const entries = Object.entries(lock.modules).map(async ([id, locked]) => {
    try {
      const source = upgradeSource(id, lock, directory, aliases)
      const ask = source.kind === 'registry' ? askRegistry : lookAgain
      return [id, await ask(source, locked, npm, limit)] as const
    } catch (error) {
      const unreachable = asFailure(error).message
      return [id, { wanted: null, latest: null, outdated: false, waiting: null, unreachable }] as const
    }
  })
  return new Map(await Promise.all(entries))
}

async function askRegistry(
  { target }: Source,
  locked: LockedModule,
  npm: NpmOptions,
  limit: AgeLimit | undefined,
): Promise<Newer> {
  const options = { ...npm, fullMetadata: true }
  return await asking(target, async () => {
    const pacote = await loadPacote()
    const chosen = limit ? await chooseVersion(target, options, limit) : { ...noAges, target }
    const { version: wanted } = await pacote.manifest(chosen.target, options)
    const { version: latest } = await pacote.manifest(`${locked.package}@latest`, options)
    const waiting = chosen.waiting[0] ?? null
    return { wanted, latest, outdated: wanted !== locked.version, waiting, unreachable: null }
  })
}

async function lookAgain(source: Source, locked: LockedModule, npm: NpmOptions): Promise<Newer> {
  const { data, integrity } = await fetchPackage(source, npm)
  const version = readDescription(data)?.version ?? null
  return {
    wanted: version,
    latest: version,
    outdated: integrity !== locked.integrity,
    waiting: null,
    unreachable: null,
  }
}
