import type { LockedPackage } from '@mortise/application'
import semver from 'semver'
import { type Failure, tooNew } from '../../failures/index.ts'
import type { NpmOptions } from './npm-libraries.ts'
import { loadPacote } from './npm-libraries.ts'

// Malware on a registry is usually found within hours, so a young version waits. The registry's
// `time` has the dates. A registry without dates would never let anything through, so a package of
// unknown age is installed, and the plan names it.

/** The limit for one change. */
export interface AgeLimit {
  readonly hours: number
  /** Versions that were published later are young. */
  readonly before: Date
  /** Whether young versions are installed. */
  readonly allowNew: boolean
  /** What is installed stays installable, whatever its age. */
  readonly installed: readonly LockedPackage[]
}

export interface DatedPackage {
  readonly package: string
  readonly version: string
  readonly published: string
  /** When it is old enough. */
  readonly installable: string
}

/** The ages of a package and its dependencies. */
export interface Ages {
  /** Null if its registry gives no date, or it comes from no registry. */
  readonly published: string | null
  /** Young versions that are installed because of `--allow-new`. */
  readonly young: readonly DatedPackage[]
  /** Young versions that wait. An older one is installed `instead`. */
  readonly waiting: readonly (DatedPackage & { readonly instead: string })[]
  /** `name@version` of packages whose registry gives no date. */
  readonly undated: readonly string[]
}

export const noAges: Ages = { published: null, young: [], waiting: [], undated: [] }

/** @param hours the setting; 0: no limit */
export function ageLimit(
  hours: number,
  allowNew: boolean,
  installed: readonly LockedPackage[],
): AgeLimit | undefined {
  if (hours === 0) return undefined
  return { hours, before: new Date(Date.now() - hours * 3_600_000), allowNew, installed }
}

export const isYoung = (published: string | undefined, { before }: AgeLimit) =>
  published !== undefined && Date.parse(published) > before.getTime()

export function dated(name: string, version: string, published: string, { hours }: AgeLimit): DatedPackage {
  const installable = new Date(Date.parse(published) + hours * 3_600_000).toISOString()
  return { package: name, version, published: new Date(published).toISOString(), installable }
}

/** @param of the package that depends on it */
export function youngFailure(one: DatedPackage, { hours }: AgeLimit, of?: string): Failure {
  const { package: name, version, published, installable } = one
  const target = `${name}@${version}${of === undefined ? '' : ` (a dependency of ${of})`}`
  return tooNew({ target, published, hours, installable })
}

/** A version of a registry package, as `name@version`. */
export interface Chosen extends Ages {
  readonly target: string
}

/**
 * The version of `target` to install: the newest that is old enough. What is installed is never
 * exchanged for an older version because of its age.
 * @throws {Failure} `too-new` if all versions in range are young
 */
export async function chooseVersion(target: string, npm: NpmOptions, limit: AgeLimit): Promise<Chosen> {
  const options = { ...npm, fullMetadata: true }
  const pick = async (spec: string, more: object = {}) => {
    const pacote = await loadPacote()
    const {
      name,
      version,
      _time: published,
    } = (await pacote.manifest(spec, { ...options, ...more })) as Dated
    return { name, version, published, target: `${name}@${version}` }
  }
  const newest = await pick(target)
  const { name, version, published } = newest
  const installed = limit.installed.find((locked) => locked.package === name)?.version
  const known = { ...noAges, target: newest.target, published: published ?? null }
  if (published === undefined) return { ...known, undated: [newest.target] }
  if (!isYoung(published, limit) || version === installed) return known
  const young = dated(name, version, published, limit)
  if (limit.allowNew) return { ...known, young: [young] }
  const older = await pick(target, { before: limit.before }).catch((error) => {
    if (!isNone(error)) throw error
    return undefined
  })
  const present = installed && (await pick(`${name}@${installed}`).catch(() => undefined))
  const isKept =
    present && isWanted(target, present.version) && !(older && semver.gt(older.version, present.version))
  const instead = isKept ? present : older
  if (instead === undefined) throw youngFailure(young, limit)
  const waiting = [{ ...young, instead: instead.version }]
  return { ...noAges, target: instead.target, published: instead.published ?? null, waiting }
}

interface Dated {
  readonly name: string
  readonly version: string
  readonly _time?: string
}

/** Whether npm's library found no version, also because of its date. */
export const isNone = ({ code }: { code?: string }) => code === 'ETARGET' || code === 'ENOVERSIONS'

/** Whether `name@range` has the version. A tag has any, and an exact version only itself. */
function isWanted(target: string, version: string): boolean {
  const range = target.slice(target.lastIndexOf('@') + 1)
  return target.lastIndexOf('@') <= 0 || semver.validRange(range) === null || semver.satisfies(version, range)
}
