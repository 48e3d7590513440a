import { readdir, readFile, stat } from 'node:fs/promises'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import semver from 'semver'
import ssri from 'ssri'
import { Parser } from 'tar'
import { largestTarball } from './unpack.ts'

// An import of node:http would load all of undici.
const { createServer } = process.getBuiltinModule('node:http')

export interface Description {
  readonly name: string
  readonly version: string
}

export interface Packed {
  readonly file: string
  readonly json: Description
  readonly integrity: string
}

/** The registries of this process by address, each with its packages once one was asked for. */
const served = new Map<string, { readonly directory: string; packages?: Promise<Packed[]> }>()

/**
 * Serves directories of tarballs (`npm pack`) to npm's library as registries, over the loopback
 * interface. The server ends with the process and does not keep it alive. Packages that are in no
 * directory are not found.
 * @returns the address of each directory
 */
export async function serveDirectories(directories: readonly string[]): Promise<string[]> {
  const server = createServer((request, response) => {
    respond(request, response, base).catch((error: Error) => response.writeHead(500).end(error.message))
  })
  server.unref().listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return directories.map((directory, index) => {
    served.set(`${base}/${index}/`, { directory })
    return `${base}/${index}/`
  })
}

async function respond(request: IncomingMessage, response: ServerResponse, base: string): Promise<void> {
  const [, index, ...rest] = (request.url ?? '').split('/')
  const address = `${base}/${index}/`
  const registry = served.get(address)
  const path = decodeURIComponent(rest.join('/'))
  response.setHeader('connection', 'close')
  if (registry === undefined) return void response.writeHead(404).end()
  registry.packages ??= readPackages(registry.directory)
  const packages = await registry.packages
  const wanted = packages.find(({ file }) => path === `-/${file}`)
  if (wanted) return void response.end(await readFile(join(registry.directory, wanted.file)))
  const versions = packages.filter(({ json }) => json.name === path)
  response.setHeader('content-type', 'application/json')
  if (versions.length === 0) return void response.writeHead(404).end('{}')
  response.end(JSON.stringify(packument(path, versions, address)))
}

/** The folder behind the address of a registry, if it is one. */
export const folderServedAt = (address: string) => served.get(address)?.directory

/** For people: the source of the bytes behind an address. */
export function originOf(address: string): string {
  for (const [base, { directory }] of served) {
    if (address.startsWith(`${base}-/`))
      return join(directory, decodeURIComponent(address.slice(base.length + 2)))
  }
  return address
}

function packument(name: string, packages: readonly Packed[], address: string): unknown {
  const versions = packages.map(({ json, file, integrity }) => {
    const dist = { tarball: `${address}-/${encodeURIComponent(file)}`, integrity }
    return [json.version, { ...json, dist }] as const
  })
  const all = packages.map(({ json }) => json.version)
  const latest = semver.maxSatisfying(all, '*') ?? semver.maxSatisfying(all, '*', { includePrerelease: true })
  return { name, 'dist-tags': { latest }, versions: Object.fromEntries(versions) }
}

/** The packages in a directory. Skips files that are not packages. */
export async function readPackages(directory: string): Promise<Packed[]> {
  const files = (await readdir(directory)).filter((file) => file.endsWith('.tgz')).sort()
  const packages: Packed[] = []
  for (const file of files) {
    const path = join(directory, file)
    if ((await stat(path)).size > largestTarball) continue
    const data = await readFile(path)
    const json = readDescription(data)
    if (json === undefined) continue
    packages.push({ file, json, integrity: ssri.fromData(data, { algorithms: ['sha512'] }).toString() })
  }
  return packages
}

/** The package.json of a tarball, read without unpacking; undefined if it has no name. */
export function readDescription(data: Buffer): Description | undefined {
  let text: string | undefined
  let failed = false
  const parser = new Parser()
  parser.on('error', () => {
    failed = true
  })
  parser.on('entry', (entry) => {
    const isWanted = /^[^/]+\/package\.json$/.test(entry.path) && entry.size <= 1024 * 1024
    if (!isWanted || text !== undefined) return void entry.resume()
    const chunks: Buffer[] = []
    entry.on('data', (chunk: Buffer) => chunks.push(chunk))
    entry.on('end', () => {
      text = Buffer.concat(chunks).toString('utf8')
    })
  })
  for (let at = 0; at < data.length && text === undefined && !failed; at += 65_536) {
    parser.write(data.subarray(at, at + 65_536))
  }
  try {
    const { name, version, ...json } = JSON.parse((text ?? '').replace(/^\ufeff/, ''))
    return typeof name === 'string' && semver.valid(version) ? { name, version, ...json } : undefined
  } catch {
    return undefined
  }
}
