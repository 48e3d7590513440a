import { readFile, stat } from 'node:fs/promises'
import semver from 'semver'
import ssri from 'ssri'
import {
  alteredInCommand,
  alteredPackage,
  Failure,
  noIntegrity,
  noSuchVersion,
  offline,
  otherBytesThanLocked,
  packageTooLarge,
  unauthorized,
  unreachable,
  unsafeRegistry,
  wrongSignature,
} from '../../failures/index.ts'
import { shippedPackage } from '../../store/module-index.ts'
import type { Source } from '../resolve/source.ts'
import { originOf } from './local-registry.ts'
import type { NpmOptions } from './npm-libraries.ts'
import { loadArborist, loadCacache, loadPacote } from './npm-libraries.ts'
import { longestResponse, readBody } from './read-body.ts'
import type { AgeLimit, Ages } from './release-age.ts'
import { largestTarball } from './unpack.ts'
import { isSignatureError, type Manifest, publishedManifest, type Signed } from './verify-signature.ts'

/** A fetched package, not yet unpacked. */
export interface FetchedPackage {
  readonly data: Buffer
  /** SHA-512 of `data` (SRI). For a registry, the published one. */
  readonly integrity: string
  /** For people: the source of the bytes. */
  readonly from: string
  /** The verified signer, if the registry publishes signatures. */
  readonly signed?: Signed | undefined
  /** The registry's deprecation message, if there is one. */
  readonly deprecated?: string | undefined
  /** Undefined if it comes from no registry. */
  readonly ages?: Ages
}

/**
 * Fetches the tarball of a source. A folder is packed as npm would publish it, without running
 * scripts.
 * @param expected the integrity that the tarball must have, if known
 * @param limit for the age of a registry package
 */
export async function fetchPackage(
  source: Source,
  options: NpmOptions,
  expected?: string,
  limit?: AgeLimit,
): Promise<FetchedPackage> {
  const fetched = await fetchFrom(source, options, expected, limit)
  const { from, integrity: found } = fetched
  if (expected === undefined || found === expected) return fetched
  const hint = source.isOwn ? 'folder' : 'package'
  throw otherBytesThanLocked({ from, target: source.target, found, expected, hint })
}

async function fetchFrom(
  source: Source,
  options: NpmOptions,
  expected?: string,
  limit?: AgeLimit,
): Promise<FetchedPackage> {
  if (source.kind === 'folder') return await pack(source.target, options)
  const shipped = source.kind === 'tarball' ? source : shippedInstead(source, options, expected)
  if (shipped) return await readTarball(shipped)
  const { target, range, package: wanted } = source
  return await asking(target, async () => {
    if (options.offline === true && expected !== undefined && semver.valid(range)) {
      return { ...(await fromCache(`${wanted}@${range}`, options, expected)), from: target }
    }
    const { manifest, signed, ages } = await publishedManifest(target, options, limit)
    const { name, version } = manifest
    if (range !== undefined && !semver.satisfies(version, range, { includePrerelease: true })) {
      throw new Error(`the registry returned ${name}@${version}, which is not in the range ${range}`)
    }
    const { deprecated } = manifest as { deprecated?: string }
    return { ...(await download(manifest, options, expected)), signed, deprecated, ages }
  })
}

async function readTarball({ target, integrity: expected }: Source): Promise<FetchedPackage> {
  const { size } = await stat(target)
  if (size > largestTarball) throw tooLarge(target)
  const data = await readFile(target)
  const integrity = integrityOf(data)
  if (expected === undefined || integrity === expected) return { data, integrity, from: target }
  throw alteredInCommand({ target, found: integrity, expected })
}

async function pack(target: string, options: NpmOptions): Promise<FetchedPackage> {
  // On its own, pacote would load the tree with the folder's npm extension, which is code of the
  // package.
  const [Arborist, pacote] = await Promise.all([loadArborist(), loadPacote()])
  const tree = await new Arborist({ path: target, ignoreExtension: true } as never).loadActual()
  const data = await pacote.tarball.stream(`file:${target}`, collect(target), { ...options, tree } as never)
  return { data, integrity: integrityOf(data), from: target }
}

/** What travels with the command needs no network: the expected bytes, and offline a version in range. */
function shippedInstead(source: Source, { offline }: NpmOptions, expected?: string): Source | undefined {
  const { package: name = '', range = '*' } = source
  const shipped = shippedPackage(name)
  if (shipped === undefined) return undefined
  const { version, integrity, file: target } = shipped
  const isWanted =
    expected === undefined ? offline && semver.satisfies(version, range) : integrity === expected
  return isWanted ? { ...source, target, integrity } : undefined
}

/**
 * Fetches exactly `name@version` from its registry, or offline from npm's cache.
 * @param expected the integrity that the tarball must have, if known
 * @param what the name of the package in error messages
 */
export async function fetchVersion(
  spec: string,
  options: NpmOptions,
  expected: string | undefined,
  what: string,
): Promise<FetchedPackage> {
  return await asking(what, async () => {
    if (options.offline === true && expected !== undefined) return await fromCache(spec, options, expected)
    const integrity = expected === undefined ? {} : { integrity: expected }
    const pacote = await loadPacote()
    return await download(await pacote.manifest(spec, { ...options, ...integrity }), options, expected)
  })
}

async function download(
  { name, version, _resolved: resolved, _integrity: published }: Manifest,
  options: NpmOptions,
  expected: string | undefined,
): Promise<FetchedPackage> {
  const spec = `${name}@${version}`
  const hashes = ssri.parse(expected ?? published ?? '')?.sha512
  const integrity = hashes?.map(String).join(' ')
  if (!integrity) throw noIntegrity({ target: spec })
  if (!/^https?:$/.test(new URL(resolved).protocol)) {
    const reason = `its registry redirects to ${resolved}, which is not a web address`
    throw unsafeRegistry({ target: spec, reason })
  }
  const fetched = await fromCache(spec, options, integrity).catch((error) => {
    if (error.code !== 'ENOTCACHED') throw error
    return fromRegistry(spec, { ...options, resolved }, integrity)
  })
  return { ...fetched, from: originOf(resolved) }
}

/** Reads a package from npm's cache by its integrity, without a request. */
async function fromCache(spec: string, options: NpmOptions, integrity: string): Promise<FetchedPackage> {
  const resolved = new URL(`${spec}.tgz`, options.registry).href
  const cached = { ...options, integrity, offline: true, resolved }
  const pacote = await loadPacote()
  const data = await pacote.tarball.stream(spec, collect(spec), cached)
  return { data, integrity: integrityOf(data), from: spec }
}

/** Writes the cache after the download: npm would accept data at any speed into the cache. */
async function fromRegistry(spec: string, options: NpmOptions, integrity: string): Promise<FetchedPackage> {
  const late = AbortSignal.timeout(longestResponse * (options.timeout as number))
  const stop = new AbortController()
  const signal = AbortSignal.any([late, stop.signal])
  const uncached = { ...options, cache: undefined, preferOnline: true, signal, integrity }
  try {
    const [pacote, cacache] = await Promise.all([loadPacote(), loadCacache()])
    const data = await pacote.tarball.stream(spec, collect(spec, late), uncached)
    // For --offline. If the cache cannot be written, it stays empty.
    await cacache.put(options.cache as string, `mortise:${spec}`, data, { integrity }).catch(() => undefined)
    return { data, integrity: integrityOf(data), from: spec }
  } finally {
    stop.abort()
  }
}

const collect = (what: string, late?: AbortSignal) => (stream: NodeJS.ReadableStream) =>
  readBody(stream, { most: largestTarball, tooLarge: () => tooLarge(what), late })

/** SHA-512 (SRI). */
export const integrityOf = (data: Buffer) => ssri.fromData(data, { algorithms: ['sha512'] }).toString()

const tooLarge = (target: string) => packageTooLarge({ target, most: largestTarball / 1024 / 1024 })

/** Names what was asked for in the failures of a registry. */
export async function asking<Result>(target: string, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work()
  } catch (error) {
    throw registryFailure(error as Error, target)
  }
}

function registryFailure(error: Error & { code?: string }, target: string): Failure {
  if (error instanceof Failure) return error
  const about = { target, reason: error.message, cause: error }
  if (isSignatureError(error)) return wrongSignature(about)
  switch (error.code) {
    case 'EINTEGRITY':
      return alteredPackage(about)
    case 'E401':
    case 'E403':
      return unauthorized(about)
    case 'ENOTCACHED':
      return offline({ target, cause: error })
    case 'E404':
    case 'ETARGET':
    case 'ENOVERSIONS':
      return noSuchVersion({ target, cause: error })
    default:
      return unreachable(about)
  }
}
