import { type ChildProcess, execFile, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { mintApplicationToken } from '@mortise/host'
import type { Test } from 'tap'

const at = (path: string) => fileURLToPath(new URL(`../../../../${path}`, import.meta.url))
const sample = 'packages/api-product/sample.jsonl'
const door = at('cli/bin.js')

/** Rate limits count one address, and nobody balances load: neither is tried here. */
const environment = {
  ...process.env,
  APP_RATE_LIMIT_MAX: '0',
  APP_SERVER_DRAIN_SECONDS: '0',
  APP_LOG_LEVEL: 'error',
  npm_config_registry: 'http://127.0.0.1:1/',
  MORTISE_TEST_LATE: '1',
}

/** An application folder, its command, and the host that serves it: as an operator has them. */
export async function openShop(t: Test, modules: readonly string[], settings: object = {}) {
  const directory = t.testdir({})
  const run = (...argv: string[]) => {
    const options = { encoding: 'utf8', env: environment, maxBuffer: Infinity } as const
    const { status, stdout, stderr } = spawnSync(
      process.execPath,
      [door, ...argv, '--json', '--dir', directory],
      options,
    )
    if (status !== 0) throw new Error(`app ${argv.join(' ')}: ${stdout}${stderr}`)
    return JSON.parse(stdout)
  }
  /** As `run`, while servers of this process respond. */
  const runBeside = async (...argv: string[]) =>
    JSON.parse(
      (
        await promisify(execFile)(process.execPath, [door, ...argv, '--json', '--dir', directory], {
          env: environment,
        })
      ).stdout,
    )
  spawnSync(process.execPath, [door, 'init', directory], { env: environment })
  const file = join(directory, 'app.config.json')
  /** @param settings by section */
  const edit = (settings: Readonly<Record<string, unknown>>) => {
    const before = JSON.parse(readFileSync(file, 'utf8'))
    const sections = Object.entries(settings).map(([name, value]) => [
      name,
      typeof value === 'object' ? { ...before[name], ...value } : value,
    ])
    writeFileSync(file, JSON.stringify({ ...before, ...Object.fromEntries(sections) }))
  }
  edit({
    name: 'Corner shop',
    modules: { 'api-event': { webhookPlainHttp: true, webhookNetworks: ['127.0.0.0/8'] } },
    ...settings,
  })
  run('module-install', ...modules, '--yes')
  const host = spawn(process.execPath, [door, 'start', '--port', '0', '--dir', directory], {
    env: environment,
  })
  t.teardown(() => stopped(host))
  const url = await urlOf(host)
  const tokens = new Map<string, string>()

  /** Sends a request as a user; a subject has one token. */
  async function as(subject: string, method: string, path: string, body?: unknown, headers = {}) {
    const scopes = subject === 'root' ? ['admin'] : undefined
    const mint = () => mintApplicationToken({ directory, subject, scopes, expiresIn: '1h' })
    const token = tokens.get(subject) ?? (await mint())
    tokens.set(subject, token)
    const response = await fetch(url + path, {
      method,
      headers: {
        authorization: `Bearer ${token}`,
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    const text = await response.text()
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`)
    // biome-ignore lint/suspicious/noExplicitAny: whatever the route returns
    return { body: JSON.parse(text) as any, etag: response.headers.get('etag') }
  }
  return { directory, run, runBeside, edit, url, as, host }
}

export type Shop = Awaited<ReturnType<typeof openShop>>

function urlOf(host: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    let said = ''
    const hear = (text: Buffer) => {
      said += text
      const [, url] = /Serving (\S+)/.exec(said) ?? []
      if (url !== undefined) resolve(url)
    }
    host.stdout?.on('data', hear)
    host.stderr?.on('data', hear)
    host.once('exit', () => reject(new Error(`it does not serve: ${said}`)))
  })
}

async function stopped(host: ChildProcess): Promise<void> {
  if (host.exitCode !== null || host.signalCode !== null) return
  const ended = once(host, 'exit')
  host.kill('SIGTERM')
  await ended
}

/** The products of the example, with what each has. */
export async function fillCatalogue(shop: Shop): Promise<void> {
  const lines = readFileSync(at(sample), 'utf8').trim().split('\n')
  for (const line of lines) await shop.as('root', 'POST', '/product', JSON.parse(line))
}

/** A receiver of webhooks that notes their ids. */
export async function receiver(t: Test) {
  const ids: string[] = []
  const server = createServer((request, response) => {
    ids.push(String(request.headers['webhook-id']))
    request.resume().on('end', () => response.writeHead(204).end())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return { ids, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook` }
}
