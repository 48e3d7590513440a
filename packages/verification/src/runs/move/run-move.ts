import { randomBytes } from 'node:crypto'
import { mkdtemp, readFile, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { mintToken } from '@mortise/host'
import { Application } from '@mortise/host/serving'
import SqliteDatabase from 'better-sqlite3'
import { Client } from 'pg'
import { Host, runApp } from '../../harness/app-command.ts'
import { prepareApplication } from '../../harness/prepare-application.ts'
import { Random } from '../../harness/random.ts'
import { fillPurchases } from './fill-purchases.ts'

export interface MoveRun {
  readonly purchases: number
  /** The URL of a PostgreSQL server; the run uses its own schema. */
  readonly server: string
  /** How often the command is killed at random moments, and repeated. */
  readonly kills?: number
  readonly seed?: number
  readonly onProgress: (text: string) => void
}

export interface MoveReport {
  /** The report of "app migrate-data", and sums read from both databases. */
  readonly tables: readonly {
    table: string
    rows: number
    checksum: string
    sqlite: string
    postgres: string
  }[]
  readonly bytes: number
  /** In milliseconds: the command, its write pause, a COPY of the same rows, a read of them in SQLite. */
  readonly took: {
    readonly move: number
    readonly held: number
    readonly copy: number
    readonly read: number
  }
  /** Requests during the move. */
  readonly reads: {
    readonly count: number
    readonly failed: number
    readonly p99: number
    readonly before: number
  }
  readonly failures: readonly string[]
}

/** Sums of numbers and lengths of all columns, in SQL of both engines. */
const SUMS: Readonly<Record<string, string>> = {
  purchase: `count(*), sum(seq), sum(length(id)), sum(length(owner)), sum(length(status)), sum(item_count),
    sum(total_quantity), sum(version), sum(created_at), sum(updated_at), count(deleted_at)`,
  purchase_item:
    'count(*), sum(purchase_seq), sum(position), sum(length(id)), sum(length(product)), sum(quantity)',
  purchase_rank: 'count(*), sum(level), sum(block), sum(length(list)), sum(count)',
}

/** Moves an application during reads, and compares both databases. */
export async function runMove({
  purchases,
  server,
  kills = 0,
  seed = 1,
  onProgress,
}: MoveRun): Promise<MoveReport> {
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
    const { size: bytes } = await stat(file)
    onProgress(`${purchases} purchases, ${(bytes / 1e6).toFixed(0)} MB`)
    const read = readAll(file)
    const before = sumsOf(file)

    const token = await mintToken({
      ...{ issuer, secret: Buffer.from(secret), subject: 'user-1', expiresIn: '1d', scope: 'purchase:read' },
    })
    const host = await Host.start(directory)
    const readers = new Readers(`http://127.0.0.1:${host.port}`, token, Math.ceil(purchases / 10))
    let moved: Awaited<ReturnType<typeof runApp>>
    let move: number
    let calm: number
    try {
      await new Promise((resolve) => setTimeout(resolve, 3000))
      calm = readers.reset().p99
      const random = new Random(seed)
      for (let kill = 0; kill < kills; kill++) {
        const killAfter = random.between(500, 500 + purchases / 20)
        const { exitCode } = await runApp(directory, ['migrate-data', '--to', url], killAfter)
        if (exitCode !== undefined) throw new Error('the command ended before the kill: use more purchases')
        onProgress(`killed after ${(killAfter / 1000).toFixed(1)} s`)
      }
      const begun = performance.now()
      moved = await runApp(directory, ['migrate-data', '--to', url])
      move = Math.round(performance.now() - begun)
    } finally {
      await readers.stop()
      await host.stop()
    }
    if (moved.exitCode !== 0) throw new Error(`app migrate-data failed: ${moved.said}`)
    onProgress(`moved in ${(move / 1000).toFixed(1)} s`)

    const told = new Map<string, { rows: number; checksum: string }>(
      moved.json.tables.map((table: { table: string }) => [table.table, table]),
    )
    const tables = []
    for (const [table, sums] of Object.entries(SUMS)) {
      const { rows } = await client.query({ text: `SELECT ${sums} FROM ${table}`, rowMode: 'array' })
      const { rows: count = -1, checksum = '' } = told.get(table) ?? {}
      tables.push({
        ...{ table, rows: count, checksum },
        sqlite: before.get(table) as string,
        postgres: rows[0]?.join(' ') ?? '',
      })
    }
    const { database } = JSON.parse(await readFile(join(directory, 'app.config.json'), 'utf8'))
    const failures = [
      ...tables.flatMap((table) => (table.sqlite === table.postgres ? [] : [`${table.table} differs`])),
      ...(readers.failed > 0 ? [`${readers.failed} reads failed: ${[...readers.statuses].join(', ')}`] : []),
      ...(database === url ? [] : ['app.config.json names another database']),
    ]
    const copy = await copyAll(client)
    const { count, failed, p99 } = readers.reset()
    return {
      ...{ tables, bytes, failures },
      took: { move, held: moved.json.heldFor, copy, read },
      reads: { count, failed, p99, before: calm },
    }
  } finally {
    await client.query(`DROP SCHEMA IF EXISTS ${schema} CASCADE`)
    await client.end()
    await rm(directory, { recursive: true, force: true })
  }
}

/** Four callers that read random pages of all purchases, one after the other. */
class Readers {
  readonly statuses = new Set<number>()
  failed = 0
  #times: number[] = []
  #isOver = false
  readonly #loops: Promise<unknown>

  constructor(url: string, token: string, pages: number) {
    const loop = async () => {
      while (!this.#isOver) {
        const page = 1 + Math.floor(Math.random() * pages)
        const begun = performance.now()
        const response = await fetch(`${url}/purchase?owner=*&rpp=10&page=${page}`, {
          headers: { authorization: `Bearer ${token}` },
        })
        await response.arrayBuffer()
        this.#times.push(performance.now() - begun)
        if (response.status === 200) continue
        this.failed += 1
        this.statuses.add(response.status)
      }
    }
    this.#loops = Promise.all([loop(), loop(), loop(), loop()])
  }

  /** The figures since the last call. */
  reset() {
    const times = this.#times.sort((one, other) => one - other)
    this.#times = []
    const p99 = Math.round(times[Math.floor(times.length * 0.99)] ?? 0)
    return { count: times.length, failed: this.failed, p99 }
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

/** The time to read every row of the file. */
function readAll(file: string): number {
  const database = new SqliteDatabase(file, { readonly: true })
  try {
    const begun = performance.now()
    for (const table of Object.keys(SUMS)) {
      for (const _row of database.prepare(`SELECT * FROM ${table}`).raw().iterate());
    }
    return Math.round(performance.now() - begun)
  } finally {
    database.close()
  }
}

/** The time of a COPY of the same rows from server files into tables with the same indexes. */
async function copyAll(client: Client): Promise<number> {
  const { rows } = await client.query(`SELECT current_setting('data_directory') AS folder`)
  let took = 0
  for (const table of Object.keys(SUMS)) {
    const file = `${rows[0].folder}/mortise-${table}.csv`
    await client.query(`COPY ${table} TO '${file}'`)
    await client.query(`CREATE TABLE ${table}_copy (LIKE ${table} INCLUDING ALL)`)
    const begun = performance.now()
    await client.query(`COPY ${table}_copy FROM '${file}'`)
    took += performance.now() - begun
    await client.query(`COPY (SELECT 1 WHERE false) TO '${file}'`)
  }
  return Math.round(took)
}
