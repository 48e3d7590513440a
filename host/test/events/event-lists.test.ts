import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type EventQuery, run, sql, type Transaction } from '@mortise/module-sdk'
import type { Storage, StorageOptions } from '@mortise/storage'
import t, { type Test } from 'tap'
import { extendLists } from '../../src/events/event-lists.ts'
import { deleteOldest, EventLog, openStorage } from '../../src/events/event-log.ts'
import { hostMigrations } from '../../src/modules/migration-sets.ts'
import { createLogger } from '../../src/telemetry/logger.ts'
import { testOnEngines, testOnPostgres } from '../engines.ts'
import { writeEvents } from './fixtures/write-events.ts'

const CHILD = fileURLToPath(new URL('./fixtures/list-until-killed.ts', import.meta.url))

/** Every row that the lists have to have. */
const expected = sql`
  SELECT subject, owner, type, position FROM (
    SELECT '' AS subject, '' AS owner, type, position FROM mortise_event
    UNION ALL SELECT subject, '', type, position FROM mortise_event WHERE subject <> '' AND length(subject) < 300
    UNION ALL SELECT '', owner, type, position FROM mortise_event
      WHERE owner IN (SELECT owner FROM mortise_event_large WHERE subject = '')
    UNION ALL SELECT subject, owner, type, position FROM mortise_event
      WHERE length(owner) < 300 AND subject IN (SELECT subject FROM mortise_event_large WHERE owner = '')
  ) AS event WHERE position <= (SELECT position FROM mortise_event_listed)`
const listed = sql`SELECT subject, owner, type, position FROM mortise_event_list`

async function areExact(t: Test, storage: Storage, when: string): Promise<void> {
  const count = (rows: ReturnType<typeof sql>) => sql`SELECT count(*) AS rows FROM (${rows}) AS counted`
  t.same(await storage.many(sql`${listed} EXCEPT ${expected}`), [], `nothing else is listed ${when}`)
  t.same(await storage.one(count(listed)), await storage.one(count(expected)), `all is listed ${when}`)
}

const random = (below: number) => Math.floor(Math.random() * below)

/** Ends a transaction before one of its statements, as a lost connection does. */
function* interrupted(steps: Transaction<unknown>): Transaction<void> {
  let next = steps.next()
  for (let left = random(8); !next.done; left -= 1) {
    if (left === 0) throw new Error('interrupted')
    next = steps.next(yield next.value)
  }
  throw new Error('interrupted')
}

const queries: Omit<EventQuery, 'after' | 'limit'>[] = [
  { types: ['cart.emptied'] },
  { types: ['cart.emptied', 'purchase.created', 'cart.emptied', 'cart.unknown'] },
  ...['large', 'other', 'y'.repeat(300), 'cart_1', 'unknown', ''].flatMap((subject) => [
    { subject },
    { subject, types: ['cart.emptied'] },
    { subject, owner: 'user:large' },
    { subject, owner: 'user:ann', types: ['cart.emptied', 'purchase.created'] },
    { subject, owner: 'x'.repeat(300) },
  ]),
  ...['user:large', 'user:1', 'x'.repeat(300), 'user:unknown'].map((owner) => ({
    owner,
    types: ['purchase.created', 'cart.emptied'],
  })),
]

/** Reads all pages of each query, and compares them with the events that it selects. */
async function readsExactly(t: Test, storage: Storage, when: string): Promise<void> {
  const log = new EventLog(storage, createLogger({ level: 'silent', requests: false, slowMs: 1_000 }))
  const all = await log.read({ after: 0, limit: 100_000 })
  for (const query of queries) {
    const limit = 20 + random(400)
    const found: number[] = []
    for (let more = true; more; ) {
      const page = await log.read({ ...query, after: found.at(-1) ?? 0, limit })
      found.push(...page.map(({ position }) => position))
      more = page.length === limit
    }
    const selected = all.filter(
      ({ type, owner, subject }) =>
        (query.types?.includes(type) ?? true) &&
        (query.owner ?? owner) === owner &&
        (query.subject ?? subject) === subject,
    )
    const wanted = selected.map(({ position }) => position)
    t.strictSame(found, wanted, `${JSON.stringify(query).slice(0, 60)} in pages of ${limit} ${when}`)
  }
  await log.close()
}

testOnEngines('lists are exact whatever is written, listed, deleted and interrupted', async (t, open) => {
  const storage = await open()
  await storage.migrate([hostMigrations])
  let last = 0
  const write = async () => {
    const count = 1 + random(700)
    last += count
    await storage.transaction(() => writeEvents(count))
  }
  const forget = () => deleteOldest(last - 2_000, 1 + random(400))
  const steps = [
    write,
    write,
    () => storage.transaction(extendLists),
    () => storage.transaction(extendLists),
    () => storage.transaction(forget),
    () => Promise.all([extendLists, forget, extendLists].map((steps) => storage.transaction(steps))),
    () => t.rejects(storage.transaction(() => interrupted(extendLists()))),
    () => t.rejects(storage.transaction(() => interrupted(forget()))),
  ]
  for (let round = 0; round < 5; round += 1) {
    for (let step = 0; step < 12; step += 1) await steps[random(steps.length)]?.()
    await areExact(t, storage, `after round ${round}`)
    await readsExactly(t, storage, `after round ${round}`)
  }
  while (await storage.transaction(extendLists));
  const large = sql`SELECT count(*) AS large FROM mortise_event_large`
  await areExact(t, storage, 'when all are')
  t.ok((await storage.one<{ large: number }>(large)).large > 0, 'some are large')
  await readsExactly(t, storage, 'when all are')
  await storage.transaction(() => run(sql`DELETE FROM mortise_event WHERE position % 2 = 0`))
  await readsExactly(t, storage, 'when some were deleted behind the lists')
})

async function surviveKills(t: Test, options: StorageOptions): Promise<void> {
  const check = async (work: (storage: Storage) => Promise<unknown>) => {
    const storage = await openStorage(options)
    await work(storage)
    await storage.close()
  }
  await check((storage) => storage.migrate([hostMigrations]))
  for (const killAfter of [1, 30 + random(30), 60 + random(60)]) {
    const child = spawn(process.execPath, [CHILD, JSON.stringify(options)], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    child.stdout.on('data', (lines: Buffer) => {
      if (Number(/(\d+)\n$/.exec(lines.toString())?.[1]) >= killAfter) child.kill('SIGKILL')
    })
    await once(child, 'close')
    t.equal(child.signalCode, 'SIGKILL')
    await check((storage) => areExact(t, storage, `after ${killAfter} transactions and SIGKILL`))
  }
}

t.test('lists are exact after SIGKILL at any moment (sqlite)', (t) =>
  surviveKills(t, { file: join(t.testdir(), 'app.db') }),
)
testOnPostgres('lists are exact after SIGKILL at any moment (postgres)', (t, _open, url) =>
  surviveKills(t, { url }),
)
