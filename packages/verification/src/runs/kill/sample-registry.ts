import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { samplePackages } from './sample-packages.ts'

/**
 * Serves the sample packages like an npm registry, on a free port. `folder` is for packing them.
 */
export async function startSampleRegistry(folder: string): Promise<Server> {
  const packed = await Promise.all(
    samplePackages.map(async ({ json, files }) => {
      const name = join(folder, `${json.name}-${json.version}`.replace('/', '+'))
      for (const [path, text] of Object.entries({ ...files, 'package.json': JSON.stringify(json) })) {
        await mkdir(dirname(join(name, 'package', path)), { recursive: true })
        await writeFile(join(name, 'package', path), text)
      }
      await promisify(execFile)('tar', ['-czf', `${name}.tgz`, '-C', name, 'package'])
      return { json, tarball: await readFile(`${name}.tgz`) }
    }),
  )
  const server = createServer((request, response) => {
    const path = decodeURIComponent(request.url ?? '')
    const file = packed.find(({ json }) => path === `/${json.name}/-/${json.version}.tgz`)
    if (file) return response.end(file.tarball)
    const versions = packed.filter(({ json }) => path === `/${json.name}`)
    if (versions.length === 0) return response.writeHead(404).end('{}')
    const documents = versions.map(({ json, tarball }) => {
      const integrity = `sha512-${createHash('sha512').update(tarball).digest('base64')}`
      const dist = { integrity, tarball: `${addressOf(server)}${json.name}/-/${json.version}.tgz` }
      return [json.version, { ...json, dist }] as const
    })
    const latest = documents.at(-1)?.[0]
    response.end(
      JSON.stringify({
        name: path.slice(1),
        'dist-tags': { latest },
        versions: Object.fromEntries(documents),
      }),
    )
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return server
}

export const addressOf = (server: Server) => `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
