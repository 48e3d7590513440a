import { readLockFile } from '@mortise/application'
import semver from 'semver'
import { fetchJson } from '../install/fetch/fetch-json.ts'
import { folderServedAt } from '../install/fetch/local-registry.ts'
import { loadPacote, loadRegistryFetch, type NpmOptions } from '../install/fetch/npm-libraries.ts'
import { npmOptions } from '../install/fetch/npm-options.ts'
import { withDocuments } from '../install/fetch/package-documents.ts'
import { installedTrees } from '../store/package-tree.ts'
import type { Advisory, Finding } from './finding.ts'

/** The longest wait for all registries together, in milliseconds. */
const LONGEST = 10_000

export interface Advisories {
  readonly findings: readonly Finding[]
  /** The registries that gave no advisories, and why. That is no failure. */
  readonly unasked: readonly { readonly registry: string; readonly reason: string }[]
}

/** The advisories of a registry, by package name. */
type AdvisoriesByPackage = Readonly<
  Record<string, readonly { title: string; url: string; severity: string; vulnerable_versions: string }[]>
>

/** The ids that bring each version of each package. */
type Versions = Map<string, Map<string, Set<string>>>

/**
 * Asks the registries for known vulnerabilities of what is installed, by the names and versions of
 * its packages. A module from a folder or file is not named to them.
 */
export async function askAdvisories(directory: string): Promise<Advisories> {
  const signal = AbortSignal.timeout(LONGEST)
  const npm = withDocuments({ ...(await npmOptions(directory)), fetchRetries: 0, timeout: LONGEST, signal })
  const fetch = await loadRegistryFetch()
  const registries = new Map<string, Versions>()
  for (const { id, locked, root, packages } of await installedTrees(
    directory,
    await readLockFile(directory),
  )) {
    for (const one of packages.values()) {
      if (one === root && locked?.spec.startsWith('file:')) continue
      const registry = fetch.pickRegistry(one.name, npm)
      const versions = entry(registries, registry, () => new Map())
      entry(
        entry(versions, one.name, () => new Map()),
        one.version,
        () => new Set<string>(),
      ).add(id)
    }
  }
  const findings: Finding[] = []
  const unasked: { registry: string; reason: string }[] = []
  const asked = [...registries].map(async ([registry, versions]) => {
    try {
      findings.push(...(await findingsOf(registry, versions, npm)))
    } catch (error) {
      const reason = signal.aborted ? 'it does not respond in time' : (error as Error).message
      const folder = folderServedAt(registry)
      unasked.push(
        folder === undefined ? { registry, reason } : { registry: folder, reason: 'it is a folder' },
      )
    }
  })
  await Promise.all(asked)
  return { findings, unasked }
}

async function findingsOf(registry: string, versions: Versions, npm: NpmOptions): Promise<Finding[]> {
  const body = Object.fromEntries([...versions].map(([name, of]) => [name, [...of.keys()]]))
  const path = '/-/npm/v1/security/advisories/bulk'
  const request = { method: 'POST', gzip: true, body }
  const byPackage = (await fetchJson(path, { ...npm, registry }, request)) as AdvisoriesByPackage
  const found: Finding[] = []
  for (const [name, advisories] of Object.entries(byPackage)) {
    for (const { title, url, severity, vulnerable_versions: range } of advisories) {
      for (const [version, ids] of versions.get(name) ?? []) {
        if (!semver.satisfies(version, range, loosely)) continue
        const fixed = await fixedVersion(name, version, range, npm)
        found.push(findingOf({ package: name, version, severity, title, url, fixed, broughtBy: [...ids] }))
      }
    }
  }
  return found
}

const loosely = { includePrerelease: true, loose: true }

/** Null if there is none, undefined if the registry does not say. */
async function fixedVersion(
  name: string,
  version: string,
  range: string,
  npm: NpmOptions,
): Promise<string | null | undefined> {
  const pacote = await loadPacote()
  const packument = await pacote.packument(name, npm).catch(() => undefined)
  if (packument === undefined) return undefined
  const later = Object.keys(packument.versions ?? {}).filter(
    (one) => semver.gt(one, version) && !semver.prerelease(one) && !semver.satisfies(one, range, loosely),
  )
  return semver.sort(later)[0] ?? null
}

function findingOf(advisory: Advisory): Finding {
  const { package: name, version, severity, title, url, fixed, broughtBy } = advisory
  const without =
    fixed === undefined
      ? `Whether a newer version is without it is unknown: the registry did not list the versions of ${name}.`
      : fixed === null
        ? 'No newer version is known to be without it.'
        : `Fixed in ${fixed}.`
  const modules = broughtBy.filter((id) => id !== 'host')
  const upgrades = [
    ...(modules.length > 0 ? [`"app module-upgrade ${modules.join(' ')}"`] : []),
    ...(broughtBy.includes('host') ? ['"app host-upgrade"'] : []),
  ]
  return {
    id: 'vulnerable',
    severity: 'warning',
    message: `${name} ${version} has a known vulnerability (${severity}): ${title}. It comes with ${broughtBy.join(', ')}. ${without}`,
    hint: `Run ${upgrades.join(' and ')}. If the finding stays, ask the author. ${url}`,
    advisory,
    fixed: false,
  }
}

function entry<Key, Value>(map: Map<Key, Value>, key: Key, create: () => Value): Value {
  const found = map.get(key) ?? create()
  map.set(key, found)
  return found
}
