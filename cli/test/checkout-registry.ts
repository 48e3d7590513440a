import { execFileSync } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { createServer, type ServerResponse } from 'node:http'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import cacache from 'cacache'
import type { Test } from 'tap'
import { listening } from './verdaccio.ts'

const checkout = fileURLToPath(new URL('../../', import.meta.url))

interface Locked {
  readonly name: string
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
  const installed = await lockedPackages()
  const npm = (...argv: string[]) =>
    execFileSync('npm', ['config', 'get', ...argv], { encoding: 'utf8' }).trim()
  const [cache, network] = [join(npm('cache'), '_cacache'), npm('registry')]

  const server = createServer(async ({ url = '', headers }, response) => {
    const path = decodeURIComponent(url.slice(1))
    if (path.startsWith('-/tarball/')) return await sendTarball(path.slice('-/tarball/'.length), response)
    if (isOwn(path)) {
      const answer = await fetch(`http://${own}${url}`, { headers: { accept: headers.accept ?? '*/*' } })
      const type = answer.headers.get('content-type') ?? 'application/json'
      return response.writeHead(answer.status, { 'content-type': type }).end(await answer.text())
    }
    const versions = installed.filter(({ name }) => name === path)
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

  /** From npm's cache, where `npm ci` has put it; on a machine whose cache was emptied, from the network. */
  async function sendTarball(spec: string, response: ServerResponse): Promise<void> {
    const { name, version, integrity } = installed.find(
      (one) => `${one.name}@${one.version}` === spec,
    ) as Locked
    const data = await cacache.get.byDigest(cache, integrity).catch(() => undefined)
    if (data) return void response.end(data)
    response
      .writeHead(302, {
        location: new URL(`${name}/-/${name.split('/').at(-1)}-${version}.tgz`, network).href,
      })
      .end()
  }

  return `http://${address}/`
}

async function lockedPackages(): Promise<Locked[]> {
  const { packages } = JSON.parse(await readFile(join(checkout, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, { link?: boolean; dev?: boolean; integrity?: string }>
  }
  const found = Object.entries(packages).map(async ([place, { integrity, dev }]): Promise<Locked[]> => {
    if (integrity === undefined || dev === true) return []
    const text = await readFile(join(checkout, place, 'package.json'), 'utf8').catch(() => undefined)
    if (text === undefined) return [] // of another platform
    const { scripts: _, devDependencies: __, ...json } = JSON.parse(text)
    return [{ name: json.name, version: json.version, integrity, json }]
  })
  return (await Promise.all(found)).flat()
}
