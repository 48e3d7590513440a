import { readFileSync } from 'node:fs'
import { findPackageJSON } from 'node:module'
import semver from 'semver'
import { Failure } from '../../failure.ts'
import { hostVersion, lentPackages, type ModulePackage } from '../../host.ts'
import type { PackageJson } from '../dependencies.ts'

/** This host is one that the module runs on. */
export function checkHostRange({ manifest }: ModulePackage): void {
  if (semver.satisfies(hostVersion, manifest.host, { includePrerelease: true })) return
  throw new Failure(
    'refused',
    'host-range',
    `The module ${manifest.id} is refused: it runs on hosts ${manifest.host}, and this one is ${hostVersion}.`,
    'Install a version of the module that is made for this host.',
  )
}

/** A peer dependency of a module. */
export interface Peer {
  readonly name: string
  readonly range: string
  /** The version that the host lends; null where it does not. */
  readonly lent: string | null
}

/** The peers of a module, without optional ones that the host does not lend. */
export function peersOf(json: PackageJson): Peer[] {
  return Object.entries(json.peerDependencies ?? {}).flatMap(([name, range]): Peer[] => {
    if (lentPackages.includes(name)) return [{ name, range, lent: lentVersion(name) }]
    return json.peerDependenciesMeta?.[name]?.optional ? [] : [{ name, range, lent: null }]
  })
}

/** The host lends every peer, in its range. */
export function checkPeers(json: PackageJson): void {
  for (const { name, range, lent } of peersOf(json)) {
    if (lent === null) {
      throw new Failure(
        'refused',
        'peer-missing',
        `The package ${json.name} is refused: its peer dependency ${name} is not among what the host lends (${lentPackages.join(', ')}).`,
        'Nothing was changed. The module has to name it among its dependencies instead.',
      )
    }
    if (!semver.satisfies(lent, range)) {
      throw new Failure(
        'refused',
        'peer-range',
        `The package ${json.name} is refused: it needs ${name} ${range}, and the host lends ${lent}.`,
        'Install a version of the module that is made for this host.',
      )
    }
  }
}

function lentVersion(name: string): string {
  const file = findPackageJSON(name, import.meta.resolve('@mortise/host')) as string
  return JSON.parse(readFileSync(file, 'utf8')).version
}
