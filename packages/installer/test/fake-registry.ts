import { createHash } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { packed } from './tarball.ts'

export interface Published {
  readonly json: { name: string; version: string; dependencies?: Record<string, string> }
  readonly tarball: Buffer
  /** What the registry says of the tarball instead of the truth; null: nothing. */
  readonly integrity?: string | null
  /** When it was published, as the registry says; null: it does not say. The default is long ago. */
  readonly at?: string | null
  /** What else the registry says of the tarball: its signatures. */
  readonly dist?: Readonly<Record<string, unknown>>
}

/** Older than any setting asks. */
export const longAgo = '2020-01-01T00:00:00.000Z'

/** A package whose files are package.json and `files`. */
export function published(
  json: Record<string, unknown> & { name: string; version: string },
  files: Readonly<Record<string, string>> = {},
): Published {
  return { json, tarball: packed({ 'package.json': JSON.stringify(json), ...files }) }
}

/**
 * An npm registry on a free port, gone after the test.
 * @param keys the public keys that it says it signs with
 * @param documents what else it returns, by path
 * @returns its address; `requests` are the paths that were asked for; `hold` lets no tarball out until released
 */
export async function fakeRegistry(
  t: { teardown(cleanUp: () => unknown): unknown },
  packages: readonly Published[],
  keys?: readonly unknown[],
  documents: Readonly<Record<string, unknown>> = {},
) {
  const requests: string[] = []
  const waiting = new Set<() => void>()
  let held: Promise<void> = Promise.resolve()
  const server = createServer(async (request, response) => {
    const path = decodeURIComponent(request.url ?? '')
    requests.push(path)
    for (const look of waiting) look()
    const file = packages.find(({ json }) => path === tarballPath(json))
    if (file) {
      await held
      return response.end(file.tarball)
    }
    if (keys && path === '/-/npm/v1/keys') return response.end(JSON.stringify({ keys }))
    if (Object.hasOwn(documents, path)) return response.end(JSON.stringify(documents[path]))
    const versions = packages.filter(({ json }) => path === `/${json.name}`)
    if (versions.length === 0)
      return response.writeHead(404, { 'content-type': 'application/json' }).end('{}')
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(packument(versions)))
  })
  server.listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  const registry = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })

  function packument(versions: readonly Published[]) {
    const [first] = versions as [Published]
    return {
      name: first.json.name,
      'dist-tags': { latest: versions.at(-1)?.json.version },
      time: Object.fromEntries(
        versions.flatMap(({ json, at = longAgo }) => (at === null ? [] : [[json.version, at]])),
      ),
      versions: Object.fromEntries(
        versions.map(({ json, tarball, integrity, dist: more }) => {
          const truth = `sha512-${createHash('sha512').update(tarball).digest('base64')}`
          const dist = {
            tarball: `${registry.slice(0, -1)}${tarballPath(json)}`,
            integrity: integrity ?? truth,
            ...more,
          }
          const weak = { tarball: dist.tarball, shasum: createHash('sha1').update(tarball).digest('hex') }
          return [json.version, { ...json, dist: integrity === null ? weak : dist }]
        }),
      ),
    }
  }

  return {
    registry,
    requests,
    /** Resolves when a path that matches is, or was, asked for. */
    asked: (pattern: RegExp) =>
      new Promise<void>((resolve) => {
        const look = () => {
          if (!requests.some((path) => pattern.test(path))) return
          waiting.delete(look)
          resolve()
        }
        waiting.add(look)
        look()
      }),
    hold(): () => void {
      const { promise, resolve } = Promise.withResolvers<void>()
      held = promise
      return resolve
    },
  }
}

const tarballPath = ({ name, version }: { name: string; version: string }) => `/${name}/-/${version}.tgz`
