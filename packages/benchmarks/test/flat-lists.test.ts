import { readFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { byEngine, run, Sql, type Statement, sql, type Transaction } from '@mortise/module-sdk'
import {
  createTestHost,
  onEngines,
  type TestCaller,
  type TestEngine,
  type TestHost,
} from '@mortise/module-testkit'
import SqliteDatabase from 'better-sqlite3'
import { type Test, test } from 'tap'
import { fillPurchases, numbersTo } from '../../api-purchase/test/fill-purchases.ts'

/**
 * What a page of each list costs, in pages of the database that its statements read: the same on the first, the middle
 * and the last page, and with 1,000 rows or with 30,000.
 */

const folderOf = (name: string) => dirname(fileURLToPath(import.meta.resolve(`${name}/package.json`)))
const modules = ['@mortise/api-purchase', '@mortise/api-event'].map((name) => ({ directory: folderOf(name) }))
const PAGE_SIZE = 4096

/** The statements that the host runs for `work`. */
async function statementsOf({ database }: TestHost, work: () => Promise<unknown>): Promise<Sql[]> {
  const queries: Sql[] = []
  const { snapshot, many, maybeOne, one } = database
  const recorded = function* <Result>(steps: () => Transaction<Result>): Transaction<Result> {
    const running = steps()
    let next = running.next()
    while (!next.done) {
      queries.push((next.value as Statement).query)
      next = running.next(yield next.value)
    }
    return next.value
  }
  database.snapshot = (steps) => snapshot.call(database, () => recorded(steps)) as never
  const reads = { many, maybeOne, one }
  // One of them may call another.
  let isInside = false
  for (const [name, read] of Object.entries(reads)) {
    const record = (query: Sql) => {
      if (!isInside) queries.push(query)
      isInside = true
      const result = read.call(database, query)
      isInside = false
      return result
    }
    Object.assign(database, { [name]: record })
  }
  try {
    await work()
    return queries
  } finally {
    Object.assign(database, { snapshot, ...reads })
  }
}

const textOf = ({ strings }: Sql, placeholder: (index: number) => string) =>
  strings.reduce((text, part, index) => `${text}${placeholder(index)}${part}`)

/** Database pages that these statements read, from an empty cache. */
async function pagesRead(
  { database }: TestHost,
  engine: TestEngine,
  queries: readonly Sql[],
): Promise<number> {
  if (engine === 'sqlite') {
    const { file } = await database.one<{ file: string }>(sql`SELECT file FROM pragma_database_list`)
    const connection = new SqliteDatabase(file, { readonly: true })
    connection.prepare('SELECT count(*) FROM sqlite_schema').get()
    const before = bytesRead()
    for (const query of queries) connection.prepare(textOf(query, () => '?')).all(...query.values)
    const bytes = bytesRead() - before
    connection.close()
    return Math.round(bytes / PAGE_SIZE)
  }
  let pages = 0
  for (const query of queries) {
    const { strings, values } = query.postgres ?? query
    const explained = new Sql(
      [`EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) ${strings[0]}`, ...strings.slice(1)],
      values,
    )
    const row = await database.one<Record<string, string>>(explained)
    const [{ Plan: plan }] = JSON.parse(row['QUERY PLAN'] as string)
    pages += plan['Shared Hit Blocks'] + plan['Shared Read Blocks']
  }
  return pages
}

/**
 * The pages that one request reads. A job may fall into a measurement, and PostgreSQL keeps deleted rows while another
 * test has a transaction open: more than `most` counts only if it is more each time.
 */
async function pagesOf(host: TestHost, engine: TestEngine, most: number, request: () => Promise<unknown>) {
  let pages = await pagesRead(host, engine, await statementsOf(host, request))
  for (let tries = 0; pages > most && tries < 5; tries++) {
    await setTimeout(1_000)
    pages = await pagesRead(host, engine, await statementsOf(host, request))
  }
  return pages
}

const bytesRead = () => Number(/rchar: (\d+)/.exec(readFileSync('/proc/thread-self/io', 'utf8'))?.[1])

/** `count` purchases of `owner`, among a third as many of others. */
async function fillWith({ database }: TestHost, owner: string, count: number): Promise<void> {
  for (let left = count; left > 0; left -= 10_000) {
    const { last } = await database.one<{ last: number }>(
      sql`SELECT coalesce(max(seq), 0) AS last FROM purchase`,
    )
    await database.transaction(() =>
      fillPurchases({
        last,
        count: Math.ceil((Math.min(left, 10_000) * 4) / 3),
        id: sql`'purchase_' || (${last} + n)`,
        owner: sql`CASE WHEN n % 4 = 0 THEN 'user:' || (n % 1000) ELSE CAST(${owner} AS TEXT) END`,
        status: sql`CASE WHEN n < 10 THEN 'confirmed' WHEN n % 10 = 1 THEN 'cancelled' ELSE 'pending' END`,
      }),
    )
  }
}

/** As autovacuum does. SQLite has no such thing. */
async function analyzed({ database }: Pick<TestHost, 'database'>): Promise<void> {
  await database.transaction(() => run(byEngine({ sqlite: sql`SELECT 1`, postgres: sql`ANALYZE` })))
}

/** PostgreSQL counts a page once for each row, and has entries of deleted rows until VACUUM. */
const MOST: Record<TestEngine, number> = { sqlite: 60, postgres: 400 }
/** A count of 10,001 entries of the index, and the 10,000 before the last page. */
const MOST_TO_ROW_10_000: Record<TestEngine, number> = { sqlite: 400, postgres: 2_000 }

onEngines<Test>(test)('a page of purchases costs the same anywhere, at any length', async (t, engine) => {
  const host = await createTestHost(t, { modules, rehearse: false })
  const clerk = host.user('clerk', 'purchase:read')
  const lists: Record<string, { caller: TestCaller; query: string; rows: Sql }> = {
    everyone: { caller: clerk, query: '&owner=*', rows: sql`TRUE` },
  }
  for (const [name, count] of Object.entries({ few: 1_000, many: 30_000 })) {
    const caller = host.user(name)
    const { id } = (await caller.post('/purchase', { items: [{ product: 'tea', quantity: 1 }] })).json()
    const { owner } = await host.database.one<{ owner: string }>(
      sql`SELECT owner FROM purchase WHERE id = ${id}`,
    )
    lists[name] = { caller, query: '', rows: sql`owner = ${owner}` }
    await fillWith(host, owner, count)
  }
  await analyzed(host)
  for (const [name, { caller, query, rows }] of Object.entries(lists)) {
    for (const status of ['', '&status=cancelled', '&status=confirmed']) {
      const list = `/purchase?rpp=20${query}${status}`
      const { pages, total } = (await caller.get(list)).json()
      const filter = { '': sql`TRUE`, '&status=cancelled': sql`status = 'cancelled'` }[status]
      const among = sql`${rows} AND ${filter ?? sql`status = 'confirmed'`}`
      const all = await host.database.one<{ total: number }>(
        sql`SELECT count(*) AS total FROM purchase WHERE ${among}`,
      )
      t.equal(total, Math.min(all.total, 10_000), `${name}${status}`)
      const most = total < 2_000 ? MOST : MOST_TO_ROW_10_000
      for (const page of [1, Math.ceil(pages / 2), pages]) {
        const cost = await pagesOf(host, engine, most[engine], () => caller.get(`${list}&page=${page}`))
        t.ok(cost > 0 && cost <= most[engine], `${name}${status}, page ${page}: ${cost}`)
      }
      for (const skipped of [0, Math.floor(all.total / 2), all.total - 1]) {
        const { id } = await host.database.one<{ id: string }>(
          sql`SELECT id FROM purchase WHERE ${among} ORDER BY seq DESC LIMIT 1 OFFSET ${skipped}`,
        )
        const path = `${list}&after=${id}`
        const { data } = (await caller.get(path)).json()
        t.equal(data.length, Math.min(20, all.total - skipped - 1), path)
        const cost = await pagesOf(host, engine, MOST[engine], () => caller.get(path))
        t.ok(cost > 0 && cost <= MOST[engine], `${name}${status}, after ${skipped} rows: ${cost}`)
      }
    }
  }
})

/** A search of all events or deliveries reads hundreds or thousands. */
const MOST_BY_CURSOR: Record<TestEngine, number> = { sqlite: 60, postgres: 120 }

/** A page of some types or of a subject looks at 1,000 events. */
const MOST_LOOKED_AT: Record<TestEngine, number> = { sqlite: 200, postgres: 2_500 }

/** Up to `count` events: every second is Ann's, and every fifth has one subject. */
async function fillEvents({ database }: TestHost, ann: string, count: number): Promise<void> {
  const { last } = await database.one<{ last: number }>(
    sql`SELECT coalesce(max(position), 0) AS last FROM mortise_event`,
  )
  for (let from = last; from < count; from += 10_000) {
    await database.transaction(() =>
      run(sql`
        INSERT INTO mortise_event (position, id, type, source, subject, owner, at, data)
        SELECT position, 'event_' || position,
          CASE WHEN position % 20 = 1 THEN 'purchase.created' WHEN position % 100 = 10 THEN 'cart.emptied'
            ELSE 'cart.item-added' END,
          'test', CASE WHEN position % 5 = 0 THEN 'large' ELSE 'cart_' || (position / 7) END,
          CASE WHEN position % 2 = 0 THEN CAST(${ann} AS TEXT) ELSE 'user:' || (position % 1000) END,
          ${Date.now()}, '{"note":"' || (position * 1000000007) || '"}'
        FROM (SELECT ${from} + n AS position FROM ${numbersTo(Math.min(count - from, 10_000))}) AS event`),
    )
  }
}

onEngines<Test>(test)('a page of events costs the same anywhere, at any length', async (t, engine) => {
  const host = await createTestHost(t, { modules, rehearse: false })
  const ann = host.user('ann')
  const clerk = host.user('clerk', 'event:read')
  const buy = () => ann.post('/purchase', { items: [{ product: 'tea', quantity: 1 }] })
  await buy()
  const [first] = await host.events()
  const owner = first?.owner as string
  const own = sql`owner = ${owner}`
  const large = sql`subject = 'large'`
  const rare = sql`type = 'cart.emptied'`
  const frequent = sql`type IN ('cart.item-added', 'purchase.created')`
  const lists: readonly [TestCaller, string, Sql][] = [
    [clerk, '', sql`TRUE`],
    [clerk, '&types=cart.item-added,purchase.created', frequent],
    [clerk, '&types=cart.emptied', rare],
    [clerk, '&types=purchase.deleted', sql`type = 'purchase.deleted'`],
    [clerk, '&subject=large', large],
    [clerk, '&subject=large&types=cart.emptied', sql`${large} AND ${rare}`],
    [clerk, '&subject=cart_20', sql`subject = 'cart_20'`],
    [ann, '', own],
    [ann, '&types=cart.emptied', sql`${own} AND ${rare}`],
    // Ann has none of these but the two that she has bought.
    [ann, '&types=purchase.created', sql`${own} AND type = 'purchase.created'`],
    [ann, '&subject=large', sql`${own} AND ${large}`],
    [ann, '&subject=large&types=cart.emptied', sql`${own} AND ${large} AND ${rare}`],
    [host.user('ben'), '&subject=large', sql`FALSE`],
  ]
  for (const count of [1_000, 100_000]) {
    await fillEvents(host, owner, count)
    await buy()
    await analyzed(host)
    for (const [caller, filter, rows] of lists) {
      const { total } = await host.database.one<{ total: number }>(
        sql`SELECT count(*) AS total FROM mortise_event WHERE ${rows}`,
      )
      for (const skipped of [0, Math.floor(total / 2), Math.max(total - 20, 0)]) {
        const ids = await host.database.many<{ id: string }>(sql`
          SELECT id FROM mortise_event WHERE ${rows} ORDER BY position LIMIT 21 OFFSET ${Math.max(skipped - 1, 0)}`)
        const after = skipped === 0 ? 'start' : ids.shift()?.id
        const path = `/event?limit=20${filter}&after=${after}`
        const { data, more } = (await caller.get(path)).json()
        t.same(
          data.map(({ id }: { id: string }) => ({ id })),
          ids.slice(0, data.length),
          path,
        )
        t.ok(data.length === Math.min(ids.length, 20) || more, `${path} says whether it is all`)
        const most = (filter === '' ? MOST_BY_CURSOR : MOST_LOOKED_AT)[engine]
        const cost = await pagesOf(host, engine, most, () => caller.get(path))
        t.ok(cost > 0 && cost <= most, `${path} of ${count}: ${cost}`)
      }
    }
  }
})

onEngines<Test>(test)('a page of deliveries costs the same anywhere, at any length', async (t, engine) => {
  const host = await createTestHost(t, { modules, rehearse: false })
  const ann = host.user('ann')
  await ann.post('/purchase', { items: [{ product: 'tea', quantity: 1 }] })
  const [{ owner = '' } = {}] = (await host.events()) as { owner: string }[]
  await host.database.transaction(() =>
    run(sql`
      INSERT INTO webhook
        (id, owner, everyone, url, types, description, secrets, enabled, version, created_at, updated_at)
      VALUES ('webhook_1', ${owner}, 0, 'https://example.org', '["*"]', '', '[]', 0, 1, 0, 0)`),
  )
  for (const [from, count] of [
    [0, 1_000],
    [1_000, 30_000],
  ] as const) {
    await host.database.transaction(() =>
      run(sql`
        INSERT INTO webhook_delivery
          (webhook, id, type, subject, position, of_others, state, attempts, created_at, ended_at)
        SELECT 'webhook_1', 'event_' || (${10 ** 9 + from} + n), 'purchase.created', 'purchase_1', ${from} + n, 0,
          CASE WHEN n % 100 = 0 THEN 'failed' ELSE 'delivered' END, 1, ${Date.now()}, ${Date.now()}
        FROM ${numbersTo(count - from)}`),
    )
    await analyzed(host)
    for (const state of ['', '&state=failed']) {
      for (const before of [count + 1, count / 2, 2_001, 21]) {
        const path = `/webhook/webhook_1/delivery?limit=20${state}&before=event_${10 ** 9 + before}`
        const { data } = (await ann.get(path)).json()
        const cost = await pagesOf(host, engine, MOST_BY_CURSOR[engine], () => ann.get(path))
        const left = state === '' ? before - 1 : Math.floor((before - 1) / 100)
        t.equal(data.length, Math.min(20, left, state === '' ? count : count / 100), path)
        t.ok(cost > 0 && cost <= MOST_BY_CURSOR[engine], `${path} of ${count}: ${cost}`)
      }
    }
  }
})
