import { execFileSync } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { createServer, type ServerResponse } from 'node:http'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import cacache from 'cacache'
import type { Test } from 'tap'
import { listening } from './verdaccio.ts'

const checkout = fileURLToPath(new URL('../../', import.meta.url))

interface Locked {
  readonly version: string
  readonly integrity: string
  readonly json: object
}

/**
 * A public registry of two parts: the packages that the checkout has installed, in the versions of package-lock.json,
 * and what is published at `own`. So a test installs our packages without asking the network for the others.
 * @param own the address of a registry
 * @param isOwn whether a package, by its name, is there
 */
export async function checkoutRegistry(t: Test, own: string, isOwn: (name: string) => boolean) {
  const places = await lockedPlaces()
  const settings = execFileSync('npm', ['config', 'get', 'cache', 'registry'], { encoding: 'utf8' })
  const [cache, network] = ['cache', 'registry'].map(
    (name) => settings.match(new RegExp(`^${name}=(.*)$`, 'm'))?.[1],
  ) as [string, string]

  const server = createServer(async (request, response) => {
    const { url = '', method = 'GET', headers } = request
    const path = decodeURIComponent(url.slice(1))
    if (path.startsWith('-/tarball/')) return await sendTarball(path.slice('-/tarball/'.length), response)
    if (isOwn(path)) {
      const { accept = '*/*', authorization = '', 'content-type': type = 'application/json' } = headers
      const sent = { accept, authorization, 'content-type': type }
      const body = method === 'GET' ? null : await text(request)
      const reply = await fetch(`http://${own}${url}`, { method, headers: sent, body })
      const received = reply.headers.get('content-type') ?? type
      return response.writeHead(reply.status, { 'content-type': received }).end(await reply.text())
    }
    const versions = await versionsOf(path)
    response.writeHead(versions.length > 0 ? 200 : 404, { 'content-type': 'application/json' })
    response.end(JSON.stringify(versions.length > 0 ? packument(path, versions) : {}))
  })
  const address = await listening(t, server)

  function packument(name: string, versions: readonly Locked[]): object {
    const entries = versions.map(({ version, integrity, json }) => {
      const tarball = `http://${address}/-/tarball/${encodeURIComponent(`${name}@${version}`)}`
      return [version, { ...json, dist: { tarball, integrity } }] as const
    })
    return { name, 'dist-tags': { latest: entries[0]?.[0] }, versions: Object.fromEntries(entries) }
  }

  async function versionsOf(name: string): Promise<Locked[]> {
    const found = (places.get(name) ?? []).map(async ({ place, integrity }): Promise<Locked[]> => {
      const file = join(checkout, place, 'package.json')
      const text = await readFile(file, 'utf8').catch(() => undefined)
      if (text === undefined) return [] // of another platform
      const { scripts: _, devDependencies: __, ...json } = JSON.parse(text)
      return [{ version: json.version, integrity, json }]
    })
    return (await Promise.all(found)).flat()
  }

  /** From npm's cache, where `npm ci` has put it; on a machine whose cache was emptied, from the network. */
  async function sendTarball(spec: string, response: ServerResponse): Promise<void> {
    const [, name = '', version] = /^(.+)@(.+)$/.exec(spec) ?? []
    const { integrity } = (await versionsOf(name)).find((one) => one.version === version) as Locked
    const data = await cacache.get.byDigest(join(cache, '_cacache'), integrity).catch(() => undefined)
    if (data) return void response.end(data)
    response
      .writeHead(302, {
        location: new URL(`${name}/-/${name.split('/').at(-1)}-${version}.tgz`, network).href,
      })
      .end()
  }

  return `http://${address}/`
}

/** Where the packages of package-lock.json are, by their names. */
async function lockedPlaces() {
  const { packages } = JSON.parse(await readFile(join(checkout, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, { integrity?: string; name?: string }>
  }
  const found = Object.entries(packages).flatMap(([place, { integrity, name }]) =>
    integrity === undefined
      ? []
      : [{ name: name ?? place.slice(place.lastIndexOf('node_modules/') + 13), place, integrity }],
  )
  return Map.groupBy(found, ({ name }) => name)
}
