import {
  decide,
  decisionOf,
  isBrought,
  type LockedModule,
  type LockedPackage,
  type LockFile,
  type ModulePackage,
  modulesToLoad,
} from '@mortise/application'
import { idTaken, signatureGone } from '../../failures/index.ts'
import { lockedModule, readInstalled } from '../../store/installed-packages.ts'
import { readPackageJson } from '../../store/package-json.ts'
import { type Bytes, checkSameBytes } from '../../store/same-bytes.ts'
import { isStored, measure } from '../../store/staging.ts'
import type { Candidate } from '../fetch/candidate.ts'
import type { Fetched } from '../fetch/fetch.ts'
import type { HostCandidate } from '../fetch/stage-host.ts'
import { lockedAs, type Staged } from '../fetch/stage-package.ts'
import { checkEntry } from './entry.ts'

/** A module whose code the change brings into service. */
export interface Arriving
  extends Omit<Candidate, 'source' | 'decision'>,
    Partial<Pick<Candidate, 'source' | 'decision'>> {
  readonly id: string
  readonly locked: LockedModule
  /** The fetched package in staging, if it was fetched now. */
  readonly candidate?: Candidate | undefined
}

/** The fetched packages are verified, and their differences are known. */
export interface Verified extends Fetched {
  readonly arriving: readonly Arriving[]
  readonly arrivingHost?: HostCandidate | undefined
  /** The modules that serve beside them, before and after. */
  readonly beside: readonly ModulePackage[]
}

export const nothingArrives = { arriving: [], beside: [] }

/** Compares the fetched packages with what is and was installed. */
export async function verify(fetched: Fetched): Promise<Verified> {
  const { input, previous, modules, host, restored, external } = fetched
  const { directory } = input
  const fresh: Arriving[] = []
  const unchanged: string[] = []
  for (const candidate of modules) {
    const { id } = candidate.package.manifest
    checkSignatureKept(candidate, lockedModule(previous, id))
    if (await isInstalled(candidate, previous, directory)) unchanged.push(id)
    else {
      const before = lockedModule(previous, id)
      const decision = (before && decisionOf(before)) ?? candidate.decision ?? { state: 'active' }
      fresh.push({ ...candidate, id, locked: decide(lockedAs(candidate), decision), candidate })
    }
  }
  if (host) checkSignatureKept(host, previous.host)
  const arrivingHost = host && (await isPinned(host, previous, directory)) ? undefined : host
  const bytes: Bytes[] = fresh.map(({ locked, source }) => ({ ...locked, source }))
  if (arrivingHost) bytes.push({ ...lockedAs(arrivingHost), source: arrivingHost.source })
  await checkSameBytes(directory, bytes)

  const entries = Object.fromEntries(fresh.map(({ id, locked }) => [id, locked]))
  const target: LockFile = {
    ...fetched.target,
    ...(arrivingHost && { host: lockedAs(arrivingHost) }),
    modules: { ...fetched.target.modules, ...entries },
  }
  const refetched = new Map(restored.flatMap(({ name, module }) => (module ? [[name, module] as const] : [])))
  const others = modulesToLoad(target).filter(([id]) => !Object.hasOwn(entries, id))
  const isNew = ([id, locked]: [string, LockedModule]) => isBrought(locked, lockedModule(previous, id))
  for (const [id, locked] of others.filter(isNew)) {
    const candidate = refetched.get(id)
    if (candidate) checkSignatureKept(candidate, lockedModule(previous, id))
    fresh.push({ ...(candidate ?? (await fromStore(id, locked, directory))), id, locked, candidate })
  }
  for (const { candidate } of fresh) if (candidate) checkEntry(candidate)
  const isChange = fresh.length > 0 || arrivingHost !== undefined || external !== undefined
  const staying = isChange ? others.filter((entry) => !isNew(entry)) : []
  const beside = await Promise.all(
    staying.map(([id, locked]) => refetched.get(id)?.package ?? readInstalled(id, locked, directory)),
  )
  return {
    ...{ ...fetched, target, arriving: fresh, arrivingHost, beside },
    unchanged: [...fetched.unchanged, ...unchanged],
  }
}

/** Whether exactly this package is installed and undamaged in the store. */
async function isInstalled(candidate: Candidate, lock: LockFile, directory: string): Promise<boolean> {
  const { manifest, name, version } = candidate.package
  const locked = lockedModule(lock, manifest.id)
  if (locked === undefined) return false
  if (locked.package !== name) throw idTaken({ name, id: manifest.id, installed: locked.package })
  if (locked.version !== version || locked.integrity !== candidate.integrity) return false
  // The lock file names the registry from now on.
  if (locked.spec.startsWith('file:') && candidate.source.kind === 'registry') return false
  return await isStored(directory, locked)
}

async function isPinned(staged: HostCandidate, { host }: LockFile, directory: string): Promise<boolean> {
  if (host?.integrity !== staged.integrity || host.tree !== staged.tree) return false
  return await isStored(directory, host)
}

/** An installed module, described like a staged one. */
export async function fromStore(id: string, locked: LockedModule, directory: string) {
  const { integrity, tree, spec, signed, dependencies } = locked
  const found = await readInstalled(id, locked, directory)
  const json = await readPackageJson(found.directory)
  const size = await measure(found.directory)
  return { package: found, json, from: spec, integrity, tree, signed, dependencies, ...size }
}

/**
 * Rejects an unsigned or unattested registry package if the installed version had a signature or
 * attested provenance: another person may have published it.
 * @throws {Failure} `signature`
 */
function checkSignatureKept(
  { json: fresh, source, signed }: Staged<unknown>,
  locked: LockedPackage | undefined,
): void {
  if (locked?.signed === undefined || locked.package !== fresh.name || source.kind !== 'registry') return
  const isUnattested = locked.signed.provenance && !signed?.provenance
  const lost = signed === undefined ? 'signature' : isUnattested ? 'provenance' : undefined
  if (lost === undefined) return
  throw signatureGone({ target: `${fresh.name}@${fresh.version}`, lost, installed: locked.version })
}
