import { randomBytes } from 'node:crypto'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { mintToken } from '@mortise/host'
import { Application } from '@mortise/host/serving'
import SqliteDatabase from 'better-sqlite3'
import { Client } from 'pg'
import { Host, runApp } from '../../harness/app-command.ts'
import { prepareApplication } from '../../harness/prepare-application.ts'
import { Random } from '../../harness/random.ts'
import type { Outcome } from '../../harness/verification.ts'
import { fillPurchases } from './fill-purchases.ts'

export interface MoveRun {
  readonly purchases: number
  /** The URL of a PostgreSQL server; the run uses its own schema. */
  readonly server: string
  /** How often the command is killed at random moments, and repeated. */
  readonly kills: number
  readonly seed: number
  readonly onProgress: (text: string) => void
}

/** Sums of numbers and lengths of all columns, in SQL of both engines. */
const SUMS: Readonly<Record<string, string>> = {
  purchase: `count(*), sum(seq), sum(length(id)), sum(length(owner)), sum(length(status)), sum(item_count),
    sum(total_quantity), sum(version), sum(created_at), sum(updated_at), count(deleted_at)`,
  purchase_item:
    'count(*), sum(purchase_seq), sum(position), sum(length(id)), sum(length(product)), sum(quantity)',
}

/** Moves an application during reads, and compares both databases. */
export async function runMove({ purchases, server, kills, seed, onProgress }: MoveRun): Promise<Outcome> {
  const directory = await mkdtemp(join(tmpdir(), 'mortise-move-'))
  const schema = `move_${randomBytes(6).toString('hex')}`
  const url = `${server}${server.includes('?') ? '&' : '?'}schema=${schema}`
  const client = new Client({ connectionString: server, options: `-c search_path=${schema}` })
  await client.connect()
  try {
    const { issuer, secret } = await prepareApplication(directory, ['@mortise/api-purchase'])
    const first = await Application.start({ directory, port: 0, environment: {} })
    await first.close()
    const file = join(directory, 'data', 'app.db')
    fillPurchases(file, purchases, issuer)
    onProgress(`${purchases} purchases`)
    const before = sumsOf(file)

    const token = await mintToken({
      ...{ issuer, secret: Buffer.from(secret), subject: 'user-1', expiresIn: '1d', scope: 'purchase:read' },
    })
    const host = await Host.start(directory)
    const readers = new Readers(`http://127.0.0.1:${host.port}`, token, Math.ceil(purchases / 10))
    let moved: Awaited<ReturnType<typeof runApp>>
    try {
      const random = new Random(seed)
      for (let kill = 0; kill < kills; kill++) {
        const killAfter = random.between(500, 500 + purchases / 20)
        const { exitCode } = await runApp(directory, ['migrate-data', '--to', url], killAfter)
        if (exitCode !== undefined) throw new Error('the command ended before the kill: use more purchases')
        onProgress(`killed after ${(killAfter / 1000).toFixed(1)} s`)
      }
      const begun = performance.now()
      moved = await runApp(directory, ['migrate-data', '--to', url])
      onProgress(`moved in ${((performance.now() - begun) / 1000).toFixed(1)} s`)
    } finally {
      await readers.stop()
      await host.stop()
    }
    if (moved.exitCode !== 0) throw new Error(`app migrate-data failed: ${moved.said}`)

    const failures: string[] = []
    for (const [table, sums] of Object.entries(SUMS)) {
      const { rows } = await client.query({ text: `SELECT ${sums} FROM ${table}`, rowMode: 'array' })
      if (rows[0]?.join(' ') !== before.get(table)) failures.push(`${table} differs`)
    }
    const { failed, count, statuses } = readers
    if (failed > 0) failures.push(`${failed} reads failed: ${[...statuses].join(', ')}`)
    const { database } = JSON.parse(await readFile(join(directory, 'app.config.json'), 'utf8'))
    if (database !== url) failures.push('app.config.json names another database')
    const reported: readonly { table: string; rows: number }[] = moved.json.tables
    const compared = reported.reduce((sum, { table, rows }) => sum + (table in SUMS ? rows : 0), 0)
    const figures = { 'rows compared': compared, 'times killed': kills, 'reads meanwhile': count }
    return { figures, failures }
  } finally {
    await client.query(`DROP SCHEMA IF EXISTS ${schema} CASCADE`)
    await client.end()
    await rm(directory, { recursive: true, force: true })
  }
}

/** Four callers that read random pages of all purchases, one after the other. */
class Readers {
  readonly statuses = new Set<number>()
  count = 0
  failed = 0
  #isOver = false
  readonly #loops: Promise<unknown>

  constructor(url: string, token: string, pages: number) {
    const loop = async () => {
      while (!this.#isOver) {
        const page = 1 + Math.floor(Math.random() * Math.min(pages, 1_000))
        const response = await fetch(`${url}/purchase?owner=*&rpp=10&page=${page}`, {
          headers: { authorization: `Bearer ${token}` },
        })
        await response.arrayBuffer()
        this.count += 1
        if (response.status === 200) continue
        this.failed += 1
        this.statuses.add(response.status)
      }
    }
    this.#loops = Promise.all([loop(), loop(), loop(), loop()])
  }

  async stop(): Promise<void> {
    this.#isOver = true
    await this.#loops
  }
}

function sumsOf(file: string): Map<string, string> {
  const database = new SqliteDatabase(file, { readonly: true })
  try {
    const sum = (table: string, sums: string) =>
      (database.prepare(`SELECT ${sums} FROM ${table}`).raw().get() as unknown[]).join(' ')
    return new Map(Object.entries(SUMS).map(([table, sums]) => [table, sum(table, sums)]))
  } finally {
    database.close()
  }
}
