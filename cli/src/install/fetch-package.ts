import { readFile, stat } from 'node:fs/promises'
import Arborist from '@npmcli/arborist'
import pacote from 'pacote'
import semver from 'semver'
import ssri from 'ssri'
import { Failure } from '../failure.ts'
import type { NpmOptions } from './npm-options.ts'
import type { Source } from './source.ts'

/** The largest tarball that is taken, in bytes. */
export const largestTarball = 64 * 1024 * 1024

/** A package as it was fetched, not unpacked yet. */
export interface FetchedPackage {
  readonly data: Buffer
  /** SHA-512 of `data` (SRI), for a registry the one that it publishes. */
  readonly integrity: string
  /** For people: where the bytes came from. */
  readonly from: string
}

/**
 * Fetches the tarball of a source; a folder is packed as npm would publish it, without running any script.
 * @param expected the integrity that the tarball must have, where it is known
 * @throws {Failure}
 */
export async function fetchPackage(
  source: Source,
  options: NpmOptions,
  expected?: string,
): Promise<FetchedPackage> {
  const fetched = await fetchFrom[source.kind](source, options, expected)
  if (expected !== undefined && fetched.integrity !== expected) {
    throw new Failure(
      'refused',
      'integrity',
      `The package ${fetched.from} is not what modules.lock.json has: its integrity is ${fetched.integrity}, not ${expected}.`,
      `Restore the former package there, or install this one on purpose: app module-install ${source.target}`,
    )
  }
  return fetched
}

type Fetch = (source: Source, options: NpmOptions, expected?: string) => Promise<FetchedPackage>

const fetchFrom: Readonly<Record<Source['kind'], Fetch>> = {
  async tarball({ target }) {
    const { size } = await stat(target)
    if (size > largestTarball) throw tooLarge(target)
    const data = await readFile(target)
    return { data, integrity: integrityOf(data), from: target }
  },

  async folder({ target }, options) {
    // Left to itself pacote would load the tree with the npm extension of the folder, which is code of its.
    const tree = await new Arborist({ path: target, ignoreExtension: true } as never).loadActual()
    const data = await pacote.tarball.stream(`file:${target}`, collect(target), { ...options, tree } as never)
    return { data, integrity: integrityOf(data), from: target }
  },

  async registry({ target, range }, options, expected) {
    try {
      const manifest = await pacote.manifest(target, options)
      const { name, version } = manifest
      const published = ssri.parse(manifest._integrity ?? '').sha512?.map(String) ?? []
      if (published.length === 0) throw noIntegrity(`${name}@${version}`)
      if (range !== undefined && !semver.satisfies(version, range, { includePrerelease: true })) {
        throw new Error(`the registry answered ${name}@${version}, which is not in the range ${range}`)
      }
      const data = await pacote.tarball.stream(`${name}@${version}`, collect(target), {
        ...options,
        resolved: manifest._resolved,
        integrity: expected ?? published.join(' '),
      })
      return { data, integrity: integrityOf(data), from: manifest._resolved }
    } catch (error) {
      throw registryFailure(error as Error & { code?: string }, target)
    }
  },
}

function collect(what: string): (stream: NodeJS.ReadableStream) => Promise<Buffer> {
  return async (stream) => {
    const chunks: Buffer[] = []
    let size = 0
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      size += chunk.length
      if (size > largestTarball) throw tooLarge(what)
      chunks.push(chunk)
    }
    return Buffer.concat(chunks)
  }
}

function integrityOf(data: Buffer): string {
  return ssri.fromData(data, { algorithms: ['sha512'] }).toString()
}

function tooLarge(what: string): Failure {
  return new Failure(
    'refused',
    'unsafe-package',
    `The package ${what} is refused: its tarball is larger than ${largestTarball / 1024 / 1024} MiB.`,
    'Nothing was changed. If the package is yours, name in its "files" only what it needs; else tell its author.',
  )
}

function noIntegrity(what: string): Failure {
  return new Failure(
    'refused',
    'integrity',
    `The package ${what} is refused: its registry publishes no SHA-512 integrity of it, so it cannot be verified.`,
    'Use a registry that publishes one, or install a .tgz file that you trust.',
  )
}

function registryFailure(error: Error & { code?: string }, target: string): Failure {
  if (error instanceof Failure) return error
  if (error.code === 'EINTEGRITY') {
    return new Failure(
      'refused',
      'integrity',
      `The package ${target} is refused: what came is not what its registry (or the lock) says: ${error.message}`,
      'Nothing was changed. Try again; if it stays so, somebody has altered the package.',
      { cause: error },
    )
  }
  if (error.code === 'E404' || error.code === 'ETARGET' || error.code === 'ENOVERSIONS') {
    return new Failure(
      'notFound',
      'no-such-version',
      `The registry has no ${target}.`,
      'Check the name and the range; a private registry belongs into .npmrc.',
      { cause: error },
    )
  }
  return new Failure(
    'notFound',
    'unreachable',
    `The package ${target} cannot be fetched: ${error.message}`,
    'Nothing was changed. Check the network and the registry in .npmrc, then try again.',
    { cause: error },
  )
}
