import { createHash } from 'node:crypto'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'
import { runServer } from 'verdaccio'
import { longAgo, type Published } from '../../packages/installer/test/fake-registry.ts'

/** @returns its address, without a protocol */
export async function listening(t: Test, server: Server): Promise<string> {
  server.listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return `127.0.0.1:${(server.address() as AddressInfo).port}`
}

/**
 * A verdaccio that knows no other registry. What it publishes counts as published long ago.
 * @param packages who may read and publish which
 */
export async function verdaccio(t: Test, packages: Readonly<Record<string, object>>) {
  const folder = await mkdtemp(join(tmpdir(), 'verdaccio-'))
  t.teardown(() => rm(folder, { recursive: true }))
  const server: Server = await runServer({
    configPath: join(folder, 'verdaccio.yaml'),
    storage: join(folder, 'storage'),
    auth: { htpasswd: { file: join(folder, 'htpasswd'), algorithm: 'bcrypt', rounds: 4 } },
    uplinks: {},
    packages,
    max_body_size: '10mb',
    web: { enable: false },
    log: { type: 'file', path: join(folder, 'log'), level: 'fatal' },
  } as never)
  const host = await listening(t, server)
  const put = async (path: string, body: object, token?: string) => {
    const headers = { 'content-type': 'application/json', ...(token && { authorization: `Bearer ${token}` }) }
    const response = await fetch(`http://${host}/${path}`, {
      method: 'PUT',
      headers,
      body: JSON.stringify(body),
    })
    if (!response.ok) throw new Error(await response.text())
    return (await response.json()) as { token: string }
  }
  const { token } = await put('-/user/org.couchdb.user:operator', { name: 'operator', password: 'of-no-use' })
  const publish = async ({ json, tarball }: Pick<Published, 'json' | 'tarball'>) => {
    const { name, version } = json
    const file = `${name}-${version}.tgz`
    const integrity = integrityOf(tarball)
    const dist = { tarball: `http://${host}/${name}/-/${file}`, integrity }
    await put(
      name.replace('/', '%2f'),
      {
        _id: name,
        name,
        'dist-tags': { latest: version },
        versions: { [version]: { ...json, dist } },
        _attachments: {
          [file]: {
            content_type: 'application/octet-stream',
            data: tarball.toString('base64'),
            length: tarball.length,
          },
        },
      },
      token,
    )
    const document = join(folder, 'storage', name, 'package.json')
    const stored = JSON.parse(await readFile(document, 'utf8'))
    const time = Object.fromEntries(Object.keys(stored.time).map((key) => [key, longAgo]))
    await writeFile(document, JSON.stringify({ ...stored, time }))
  }
  return { host, token, publish }
}

const integrityOf = (data: Buffer) => `sha512-${createHash('sha512').update(data).digest('base64')}`
