import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { configFile } from '@mortise/application'
import { mintToken } from '@mortise/host'
import { Application } from '@mortise/host/serving'
import SqliteDatabase from 'better-sqlite3'
import { Client } from 'pg'
import { runApp, startHost } from '../../harness/app.ts'
import { bearer, Caller } from '../../harness/caller.ts'
import { defineRun } from '../../harness/define-run.ts'
import { fillPurchases } from '../../harness/fill-database.ts'
import { prepareApplication } from '../../harness/prepare-application.ts'
import { Random } from '../../harness/random.ts'
import { Shopper } from '../../harness/shopper.ts'

const READERS = 4
const sizes = { slice: { purchases: 3_000, kills: 0 }, round: { purchases: 200_000, kills: 3 } }

/** Sums of numbers and lengths of all columns, in SQL of both engines. */
const SUMS: Readonly<Record<string, string>> = {
  purchase: `count(*), sum(seq), sum(length(id)), sum(length(owner)), sum(length(status)), sum(item_count),
    sum(total_quantity), sum(version), sum(created_at), sum(updated_at), count(deleted_at)`,
  purchase_item:
    'count(*), sum(purchase_seq), sum(position), sum(length(id)), sum(length(product)), sum(quantity)',
}

/** Moves an application during reads, and compares both databases. */
export const move = defineRun({
  promise:
    'app migrate-data moves every row from SQLite to PostgreSQL while the host serves reads, also after a kill.',
  needed: ['rows compared', 'reads meanwhile'],
  engines: () => ['postgres'],
  async round(round) {
    const { random, agent, seed } = round
    const url = round.database as string
    const { purchases, kills } = sizes[round.isSlice ? 'slice' : 'round']
    const directory = join(round.folder, 'application')
    const { issuer, secret } = await prepareApplication(directory, ['@mortise/api-purchase'])
    await (await Application.start({ directory, port: 0, environment: {} })).close()
    const file = join(directory, 'data', 'app.db')
    // A thousand of each user.
    fillPurchases(file, purchases, `user:${encodeURIComponent(issuer)}:user-`, purchases / 1_000)
    round.log(`${purchases} purchases`)
    const before = sumsOf(file)

    const host = await startHost(directory)
    const key = { issuer, secret: Buffer.from(secret), subject: 'user-1', scopes: ['purchase:read'] }
    const caller = new Caller(agent, () => host.url, bearer(await mintToken({ ...key, expiresIn: '1d' })))
    const readers = Array.from({ length: READERS }, (_, number) => {
      const own = new Random(seed + number)
      const page = () => own.between(1, Math.min(Math.ceil(purchases / 10), 1_000))
      const read = async () => {
        const { status } = await caller.get(`/purchase?owner=*&rpp=10&page=${page()}`)
        if (status !== 200) throw new Error(`a read got ${status}`)
      }
      return new Shopper(caller, own, { does: [[1, read]] })
    })
    for (const reader of readers) reader.start()
    const moveTo = (killAfter?: number) => runApp(directory, ['migrate-data', '--to', url], { killAfter })
    for (let kill = 0; kill < kills; kill++) {
      const { exitCode } = await moveTo(random.between(500, 500 + purchases / 20))
      if (exitCode !== undefined) throw new Error('the command ended before the kill: use more purchases')
      round.count('times killed')
    }
    const { exitCode, said, json } = await moveTo()
    await Promise.all(readers.map((reader) => reader.stop()))
    await host.stop()
    if (exitCode !== 0) throw new Error(`app migrate-data failed: ${said}`)
    for (const { requests, failures } of readers) {
      round.count('reads meanwhile', requests)
      round.fail(...failures)
    }

    const { searchParams } = new URL(url)
    const client = new Client({
      connectionString: url,
      options: `-c search_path=${searchParams.get('schema')}`,
    })
    await client.connect()
    round.teardown(() => client.end())
    for (const [table, sums] of Object.entries(SUMS)) {
      const { rows } = await client.query({ text: `SELECT ${sums} FROM ${table}`, rowMode: 'array' })
      if (rows[0]?.join(' ') !== before.get(table)) round.fail(`${table} differs`)
    }
    const { database } = JSON.parse(await readFile(configFile(directory), 'utf8'))
    if (database !== url) round.fail('app.config.json names another database')
    const reported: readonly { table: string; rows: number }[] = json.tables
    for (const { table, rows } of reported) if (table in SUMS) round.count('rows compared', rows)
  },
})

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
