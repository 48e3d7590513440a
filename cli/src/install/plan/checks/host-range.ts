import { isInHostRange, type ModulePackage, providedPackages } from '@mortise/host'
import semver from 'semver'
import { hostRange, peerMissing, peerRange } from '../../../failures/index.ts'
import { type HostPackage, ownHost, providedVersion } from '../../../store/host-package.ts'
import type { PackageJson } from '../../../store/package-json.ts'

/** Checks that the module runs on the host. */
export function checkHostRange({ manifest }: ModulePackage, { version }: HostPackage = ownHost): void {
  if (isInHostRange(manifest.host, version)) return
  throw hostRange({ id: manifest.id, range: manifest.host, version })
}

export interface Peer {
  readonly name: string
  readonly range: string
  /** The version that the host provides; null if it provides none. */
  readonly lent: string | null
}

/** The peers of a module, without optional ones that the host does not provide. */
export function peersOf(json: PackageJson, host: HostPackage = ownHost): Peer[] {
  return Object.entries(json.peerDependencies ?? {}).flatMap(([name, range]): Peer[] => {
    const lent = providedPackages.includes(name) ? providedVersion(host, name) : undefined
    if (lent !== undefined) return [{ name, range, lent }]
    return json.peerDependenciesMeta?.[name]?.optional ? [] : [{ name, range, lent: null }]
  })
}

/** Checks that the host provides every peer, in its range. */
export function checkPeers(json: PackageJson, host: HostPackage = ownHost): void {
  for (const { name, range, lent } of peersOf(json, host)) {
    if (lent === null) {
      throw peerMissing({ target: json.name, peer: name, provided: providedPackages.join(', ') })
    }
    if (!semver.satisfies(lent, range)) {
      throw peerRange({ target: json.name, peer: name, range, provided: lent })
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
  const peer = peersOf(json, host).find(({ range, lent }) => lent === null || !semver.satisfies(lent, range))
  return peer && `${peer.name} ${peer.range}`
}
