import type { ModulePackage } from '@mortise/application'
import { isInHostRange, providedPackages } from '@mortise/host'
import semver from 'semver'
import { hostRange, peerMissing, peerRange } from '../../../failures/index.ts'
import { type HostPackage, ownHost, providedVersion } from '../../../store/host-package.ts'
import type { PackageJson } from '../../../store/package-json.ts'

/** Checks that the module runs on the host. */
export function checkHostRange({ manifest }: ModulePackage, { version }: HostPackage = ownHost()): void {
  if (isInHostRange(manifest.host, version)) return
  throw hostRange({ id: manifest.id, range: manifest.host, version })
}

export interface Peer {
  readonly name: string
  readonly range: string
  /** The version that the host provides; null if it provides none. */
  readonly provided: string | null
}

/** The peers of a module, without optional ones that the host does not provide. */
export function peersOf(json: PackageJson, host: HostPackage = ownHost()): Peer[] {
  return Object.entries(json.peerDependencies ?? {}).flatMap(([name, range]): Peer[] => {
    const provided = providedPackages.includes(name) ? providedVersion(host, name) : undefined
    if (provided !== undefined) return [{ name, range, provided }]
    return json.peerDependenciesMeta?.[name]?.optional ? [] : [{ name, range, provided: null }]
  })
}

/** Checks that the host provides every peer, in its range. */
export function checkPeers(json: PackageJson, host: HostPackage = ownHost()): void {
  for (const { name, range, provided } of peersOf(json, host)) {
    if (provided === null) {
      throw peerMissing({ target: json.name, peer: name, provided: providedPackages.join(', ') })
    }
    if (!semver.satisfies(provided, range)) {
      throw peerRange({ target: json.name, peer: name, range, provided })
    }
  }
}

/** The host or peer that the module lacks: `host ^1.0.0`; undefined if it runs. */
export function missingOf(
  { manifest }: ModulePackage,
  json: PackageJson,
  host: HostPackage,
): string | undefined {
  if (!isInHostRange(manifest.host, host.version)) return `host ${manifest.host}`
  const peer = peersOf(json, host).find(
    ({ range, provided }) => provided === null || !semver.satisfies(provided, range),
  )
  return peer && `${peer.name} ${peer.range}`
}
