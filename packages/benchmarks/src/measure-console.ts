import { readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { mintToken } from '@mortise/host'
import { Application } from '@mortise/host/serving'
import { type PreparedApplication, prepareApplication, startHost } from '@mortise/verification'
import SqliteDatabase from 'better-sqlite3'
import { fillDay, upTo } from './fill-day.ts'

export interface ConsoleOptions {
  /** Purchases, as many events and audit records, and a fourth as many deliveries. */
  readonly rows: number
  /** Receives what comes next. */
  readonly onProgress?: (text: string) => void
}

/** Milliseconds of a request, the median of three: elapsed, and CPU time of the host and its commands. */
export interface Cost {
  readonly ms: number
  readonly cpu: number
}

const modules = ['api-cart', 'api-purchase', 'api-event', 'api-product', 'web-console']
const ROUNDS = 3

/** Measures each request that the views of the console send, on SQLite, as an admin. */
export async function measureConsole({ rows, onProgress }: ConsoleOptions): Promise<Record<string, Cost>> {
  const folder = await mkdtemp(join(tmpdir(), 'mortise-console-'))
  const directory = join(folder, 'app')
  try {
    onProgress?.(`filling ${rows} rows`)
    const packages = modules.map((id) => `@mortise/${id}`)
    const application = await prepareApplication(directory, packages)
    await (await Application.start({ directory, port: 0, environment: {} })).close()
    const file = join(directory, 'data', 'app.db')
    fillDay({ file, rows, due: 10 })
    fillRecords(file, rows)
    const host = await startHost(directory)
    try {
      onProgress?.('asking')
      const cookie = await signIn(host.url, application)
      const costs: Record<string, Cost> = {}
      for (const path of pathsOf(rows)) {
        const ask = async () => {
          const response = await fetch(`${host.url}/console${path}`, { headers: { cookie } })
          const text = await response.text()
          if (!response.ok) throw new Error(`${path}: ${response.status} ${text}`)
        }
        costs[path] = await costOf(host.child.pid as number, ask)
      }
      return costs
    } finally {
      await host.stop()
    }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

const idOf = (row: number) => `purchase_${String(row).padStart(26, '0')}`

/** In the order of the views. An old purchase has its events and records far from the end. */
function pathsOf(rows: number): string[] {
  const middle = Math.ceil(rows / 2)
  const carts = 'cart.item-added,cart.item-changed,cart.item-removed,cart.emptied,cart.claimed'
  const list = (query: string) => `/api/purchase?rpp=25&${query}`
  return [
    ...['', '/session', '/now', '/operator/host', '/api/openapi.json'],
    ...['&page=1', '&page=400', '&status=pending', '&status=expired', `&number=${middle}`].map((query) =>
      list(`owner=*${query}`),
    ),
    ...[list(`owner=*&after=${idOf(middle)}`), list('owner=user:other:77'), `/api/purchase/${idOf(middle)}`],
    ...[idOf(middle), idOf(rows)].flatMap((id) => [
      `/operator/audit?object=${id}&limit=100`,
      `/event?subject=${id}&limit=100`,
    ]),
    `/event?types=${carts}&limit=100`,
    '/api/product?rpp=25&page=1',
    ...['/event?limit=50', '/event?types=purchase.created&limit=50', `/event?limit=50&before=${middle}`],
    ...['/api/webhook?rpp=100&owner=*', '/api/webhook/one'],
    ...['', '&state=failed', '&state=pending'].map((query) => `/api/webhook/one/delivery?limit=20${query}`),
    ...['/operator/work', '/operator/events', '/operator/audit?limit=50', `/operator/audit?before=${middle}`],
    ...['module-list', 'module-history', 'module-info/api-purchase', 'config', 'search?words=mortise'].map(
      (command) => `/operator/${command}`,
    ),
    '/operator/doctor',
  ]
}

/** What `fillDay` leaves out. */
function fillRecords(file: string, rows: number): void {
  const database = new SqliteDatabase(file)
  const subject = `'purchase_' || printf('%026d', i)`
  const now = Date.now()
  try {
    database.pragma('synchronous = OFF')
    database.exec(`BEGIN;
      ${upTo(rows)} INSERT INTO mortise_audit (at, actor, action, object, outcome)
        SELECT ${now}, 'user:other:1', 'purchase.confirmed', ${subject}, 'done' FROM n;
      ${upTo(Math.ceil(rows / 4))} INSERT OR IGNORE INTO webhook_delivery
        (webhook, id, type, subject, position, of_others, state, attempts, created_at, ended_at)
        SELECT 'one', 'event_' || printf('%026d', i), 'purchase.created', ${subject}, i, 0,
          CASE WHEN i % 100 = 0 THEN 'failed' ELSE 'delivered' END, 1, ${now}, ${now} FROM n;
      COMMIT`)
  } finally {
    database.close()
  }
}

async function signIn(url: string, { issuer, secret }: PreparedApplication): Promise<string> {
  const key = Buffer.from(secret)
  const token = await mintToken({ issuer, secret: key, subject: 'root', scopes: ['admin'], expiresIn: '1h' })
  const headers = { 'x-console': '1', origin: url, 'content-type': 'application/json' }
  const body = JSON.stringify({ token })
  const response = await fetch(`${url}/console/session`, { method: 'POST', headers, body })
  if (!response.ok) throw new Error(`nobody can sign in: ${await response.text()}`)
  return response.headers.get('set-cookie')?.split(';')[0] ?? ''
}

/** The first request warms up. */
async function costOf(pid: number, ask: () => Promise<void>): Promise<Cost> {
  await ask()
  const costs: Cost[] = []
  for (let round = 0; round < ROUNDS; round++) {
    const [begun, cpu] = [performance.now(), cpuOf(pid)]
    await ask()
    costs.push({ ms: Math.round(performance.now() - begun), cpu: cpuOf(pid) - cpu })
  }
  const median = (key: keyof Cost) => costs.map((cost) => cost[key]).sort((a, b) => a - b)[1] as number
  return { ms: median('ms'), cpu: median('cpu') }
}

/** Of a process and those of its children that have ended, on Linux, in steps of 10 ms. */
function cpuOf(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
  return fields.slice(11, 15).reduce((sum, ticks) => sum + 10 * Number(ticks), 0)
}
