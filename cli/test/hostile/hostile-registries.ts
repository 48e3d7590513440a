import { createHash } from 'node:crypto'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { sampleFiles } from '../../../packages/installer/test/sample-module.ts'
import { packed, tarball } from '../../../packages/installer/test/tarball.ts'
import type { Corpus, Hostile, Lab } from './hostile.ts'

// Registries that lie, and downloads that do not end as they should.

interface Behaviour {
  /** Where the tarball is, in place of the truth. */
  readonly address?: (base: string) => string
  readonly integrity?: string
  /** What the registry says of the package beside its name and version. */
  readonly json?: Readonly<Record<string, unknown>>
  /** The tarball's bytes, in place of the honest ones. */
  readonly data?: (lab: Lab) => Buffer
  /** How long a request may take, in milliseconds. */
  readonly timeout?: number
  /** Responds for the tarball. */
  readonly tarball?: (response: ServerResponse, data: Buffer, base: string) => void
}

const registry = (code: string, message: RegExp, behaviour: Behaviour, exitCode = 4): Hostile => ({
  code,
  message,
  exitCode,
  spec: async (lab) => {
    const files = sampleFiles({ main: lab.canary, json: behaviour.json ?? {} })
    const data = behaviour.data?.(lab) ?? packed(files)
    const server = createServer((request, response) => {
      const path = decodeURIComponent(request.url ?? '')
      if (path === '/@acme/hello') {
        const dist = {
          tarball: behaviour.address?.(base) ?? `${base}/tarball`,
          integrity: behaviour.integrity ?? sha512(data),
        }
        const json = { ...JSON.parse(files['package.json'] as string), dist }
        const all = { name: '@acme/hello', 'dist-tags': { latest: '1.0.0' }, versions: { '1.0.0': json } }
        response.setHeader('content-type', 'application/json').end(JSON.stringify(all))
      } else if (path === '/tarball') {
        if (behaviour.tarball) behaviour.tarball(response, data, base)
        else response.end(data)
      } else response.writeHead(404).end()
    })
    server.listen(0, '127.0.0.1')
    await new Promise((resolve) => server.once('listening', resolve))
    const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const environment = { npm_config_registry: `${base}/`, npm_config_fetch_retries: '0' }
    Object.assign(process.env, environment, { npm_config_fetch_timeout: `${behaviour.timeout ?? 400}` })
    lab.t.teardown(() => {
      server.closeAllConnections()
      server.close()
      for (const name of ['npm_config_fetch_retries', 'npm_config_fetch_timeout']) delete process.env[name]
    })
    return '@acme/hello'
  },
})
const unreachable = (message: RegExp, behaviour: Behaviour) => registry('unreachable', message, behaviour, 3)
const dependency = (spec: string): Behaviour => ({ json: { dependencies: { evil: spec } } })

const sha512 = (data: Buffer) => `sha512-${createHash('sha512').update(data).digest('base64')}`

export const hostileRegistries: Corpus = {
  'an integrity of other bytes': registry('integrity', /differs from its registry/, {
    integrity: sha512(Buffer.from('other')),
  }),
  'an integrity that is weak': registry('integrity', /no SHA-512/, {
    integrity: `sha1-${createHash('sha1').update('x').digest('base64')}`,
  }),
  'an integrity that is missing': registry('integrity', /no SHA-512/, { integrity: '' }),
  'a tarball of a path upwards': registry('unsafe-package', /leads out of the package/, {
    data: ({ canary }) =>
      tarball([
        { path: 'package/package.json', body: sampleFiles({ main: canary })['package.json'] as string },
        { path: 'package/../../escape', body: 'x' },
      ]),
  }),
  'a package of another name': registry('integrity', /its name is @acme\/other/, {
    data: ({ canary }) => packed(sampleFiles({ name: '@acme/other', main: canary })),
  }),
  'a tarball at a file': registry('unsafe-package', /redirects to file:.* not a web address/, {
    address: () => 'file:///etc/passwd',
  }),
  'a redirection to a file': unreachable(/protocol|http\(s\)|file:/i, {
    tarball: (response) => response.writeHead(302, { location: 'file:///etc/passwd' }).end(),
  }),
  'a redirection in a circle': unreachable(/redirect/, {
    tarball: (response, _, base) => response.writeHead(302, { location: `${base}/tarball` }).end(),
  }),
  'a download that breaks off': unreachable(/aborted|premature|Premature|ECONNRESET|socket|terminated/, {
    tarball: (response, data) => {
      response.writeHead(200, { 'content-length': data.length })
      response.write(data.subarray(0, data.length - 100), () => response.destroy())
    },
  }),
  'a download that is shorter than it says, and whole to HTTP': registry(
    'integrity',
    /differs from its registry/,
    {
      tarball: (response, data) => response.end(data.subarray(0, data.length - 100)),
    },
  ),
  'a download with something behind it': registry('integrity', /differs from its registry/, {
    tarball: (response, data) => response.end(Buffer.concat([data, Buffer.from('more')])),
  }),
  'a download that announces less than it sends': unreachable(/Parse Error/, {
    tarball: (response, data) => {
      response.socket?.write(`HTTP/1.1 200 OK\r\ncontent-length: ${data.length - 100}\r\n\r\n`)
      response.socket?.end(data)
    },
  }),
  'a download that never begins': unreachable(/timeout|too long/, { tarball: () => {} }),
  'a download of a byte now and then': unreachable(/timeout|too long/, {
    tarball: (response, data) => {
      let at = 0
      const timer = setInterval(() => response.write(data.subarray(at, ++at)), 50)
      response.once('close', () => clearInterval(timer))
    },
  }),
  'a download without end': registry('unsafe-package', /larger than 64 MiB/, {
    timeout: 10_000,
    tarball: (response) => {
      const chunk = Buffer.alloc(1024 * 1024)
      const more = () => {
        while (!response.destroyed && response.write(chunk));
      }
      response.on('drain', more)
      more()
    },
  }),
  'a dependency from git': registry(
    'refused-dependency',
    /not come from a registry/,
    dependency('git+https://127.0.0.1:1/evil.git'),
  ),
  'a dependency from an address': registry(
    'refused-dependency',
    /not come from a registry/,
    dependency('http://127.0.0.1:1/evil.tgz'),
  ),
  'a dependency from the file system': registry(
    'refused-dependency',
    /not come from a registry/,
    dependency('file:../../../../data'),
  ),
  'a dependency that is a folder link': registry(
    'refused-dependency',
    /not come from a registry|link/i,
    dependency('link:/etc'),
  ),
}
