import { readFile, stat } from 'node:fs/promises'
import type { Readable } from 'node:stream'
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
  unsafeAnswer,
  wrongSignature,
} from '../../failures/index.ts'
import { shippedPackage } from '../resolve/module-index.ts'
import type { Source } from '../resolve/source.ts'
import { originOf } from './local-registry.ts'
import { loadArborist, loadCacache, loadPacote } from './npm-libraries.ts'
import type { NpmOptions } from './npm-options.ts'
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
}

/**
 * Fetches the tarball of a source. A folder is packed as npm would publish it, without running
 * scripts.
 * @param expected the integrity that the tarball must have, if known
 */
export async function fetchPackage(
  source: Source,
  options: NpmOptions,
  expected?: string,
): Promise<FetchedPackage> {
  const fetched = await fetchFrom[source.kind](source, options, expected)
  if (expected !== undefined && fetched.integrity !== expected) {
    throw otherBytesThanLocked({
      from: fetched.from,
      target: source.target,
      found: fetched.integrity,
      expected,
      hint: source.isOwn ? 'folder' : 'package',
    })
  }
  return fetched
}

type Fetch = (source: Source, options: NpmOptions, expected?: string) => Promise<FetchedPackage>

const fetchFrom: Readonly<Record<Source['kind'], Fetch>> = {
  async tarball({ target, integrity: expected }) {
    const { size } = await stat(target)
    if (size > largestTarball) throw tooLarge(target)
    const data = await readFile(target)
    const integrity = integrityOf(data)
    if (expected !== undefined && integrity !== expected) {
      throw alteredInCommand({ target, found: integrity, expected })
    }
    return { data, integrity, from: target }
  },

  async folder({ target }, options) {
    // On its own, pacote would load the tree with the folder's npm extension, which is code of the
    // package.
    const Arborist = await loadArborist()
    const pacote = await loadPacote()
    const tree = await new Arborist({ path: target, ignoreExtension: true } as never).loadActual()
    const data = await pacote.tarball.stream(`file:${target}`, collect(target), { ...options, tree } as never)
    return { data, integrity: integrityOf(data), from: target }
  },

  async registry(source, options, expected) {
    const { target, range, package: wanted } = source
    const shipped = shippedInstead(source, options, expected)
    if (shipped) return await fetchFrom.tarball(shipped, options)
    try {
      if (options.offline === true && expected !== undefined && semver.valid(range)) {
        return { ...(await fromCache(`${wanted}@${range}`, options, expected)), from: target }
      }
      const { manifest, signed } = await publishedManifest(target, options)
      const { name, version } = manifest
      if (range !== undefined && !semver.satisfies(version, range, { includePrerelease: true })) {
        throw new Error(`the registry returned ${name}@${version}, which is not in the range ${range}`)
      }
      const deprecated = (manifest as { deprecated?: string }).deprecated
      return { ...(await download(manifest, options, expected)), signed, deprecated }
    } catch (error) {
      throw registryFailure(error as Error & { code?: string }, target)
    }
  },
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
  try {
    if (options.offline === true && expected !== undefined) return await fromCache(spec, options, expected)
    const integrity = expected === undefined ? {} : { integrity: expected }
    const pacote = await loadPacote()
    return await download(await pacote.manifest(spec, { ...options, ...integrity }), options, expected)
  } catch (error) {
    throw registryFailure(error as Error & { code?: string }, what)
  }
}

async function download(
  { name, version, _resolved: resolved, _integrity: published }: Manifest,
  options: NpmOptions,
  expected: string | undefined,
): Promise<FetchedPackage> {
  const spec = `${name}@${version}`
  const integrity = ssri
    .parse(expected ?? published ?? '')
    ?.sha512?.map(String)
    .join(' ')
  if (!integrity) throw noIntegrity({ target: spec })
  if (!/^https?:$/.test(new URL(resolved).protocol)) {
    throw unsafeAnswer({
      target: spec,
      reason: `its registry redirects to ${resolved}, which is not a web address`,
    })
  }
  const fetched = await fromCache(spec, options, integrity).catch((error) => {
    if (error.code !== 'ENOTCACHED') throw error
    return fromRegistry(spec, { ...options, resolved }, integrity)
  })
  return { ...fetched, from: originOf(resolved) }
}

/** Reads a package from npm's cache by its integrity, without a request. */
async function fromCache(spec: string, options: NpmOptions, integrity: string): Promise<FetchedPackage> {
  const cached = {
    ...options,
    integrity,
    offline: true,
    resolved: new URL(`${spec}.tgz`, options.registry).href,
  }
  const pacote = await loadPacote()
  const data = await pacote.tarball.stream(spec, collect(spec), cached)
  return { data, integrity: integrityOf(data), from: spec }
}

/** As a multiple of a request's timeout: it stops a server that sends a byte now and then. */
const longestDownload = 5

/** Writes the cache after the download: npm would accept data at any speed into the cache. */
async function fromRegistry(spec: string, options: NpmOptions, integrity: string): Promise<FetchedPackage> {
  const late = AbortSignal.timeout(longestDownload * (options.timeout as number))
  const stop = new AbortController()
  const uncached = { cache: undefined, preferOnline: true, signal: AbortSignal.any([late, stop.signal]) }
  try {
    const [pacote, cacache] = await Promise.all([loadPacote(), loadCacache()])
    const data = await pacote.tarball.stream(spec, collect(spec, late), {
      ...options,
      ...uncached,
      integrity,
    })
    // For --offline. If the cache cannot be written, it stays empty.
    await cacache.put(options.cache as string, `mortise:${spec}`, data, { integrity }).catch(() => undefined)
    return { data, integrity: integrityOf(data), from: spec }
  } finally {
    stop.abort()
  }
}

function collect(what: string, late?: AbortSignal): (stream: NodeJS.ReadableStream) => Promise<Buffer> {
  return (stream) => {
    const { promise, resolve, reject } = Promise.withResolvers<Buffer>()
    const chunks: Buffer[] = []
    let size = 0
    const stop = (error: Error) => {
      reject(error)
      ;(stream as Readable).destroy()
    }
    stream.on('data', (chunk: Buffer) => {
      size += chunk.length
      if (size > largestTarball) stop(tooLarge(what))
      else chunks.push(chunk)
    })
    stream.on('error', reject)
    stream.once('end', () => resolve(Buffer.concat(chunks)))
    late?.addEventListener('abort', () => stop(new Error('the download takes too long')), { once: true })
    return promise
  }
}

function integrityOf(data: Buffer): string {
  return ssri.fromData(data, { algorithms: ['sha512'] }).toString()
}

function tooLarge(what: string): Failure {
  return packageTooLarge({ target: what, most: largestTarball / 1024 / 1024 })
}

export function registryFailure(error: Error & { code?: string }, target: string): Failure {
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
