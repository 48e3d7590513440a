import { run, sql } from '@mortise/module-sdk'
import t from 'tap'
import { countTurns } from '../count-turns.ts'
import { temporaryMigrations } from '../temporary-migrations.ts'

const first = {
  '001-pile.sql': 'CREATE TABLE pile (id INTEGER PRIMARY KEY, note TEXT)',
  '001-pile.down.sql': 'DROP TABLE pile',
}
const second = {
  ...first,
  '002-fill.sql': `
    ALTER TABLE pile ADD COLUMN weight INTEGER;
    WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300000)
    INSERT INTO pile (note, weight) SELECT hex(i), i FROM n;`,
  '002-fill.down.sql': 'DELETE FROM pile WHERE weight IS NOT NULL; ALTER TABLE pile DROP COLUMN weight;',
}

t.test('reads continue and writes wait during a migration and its undo', async (t) => {
  const { storage, write } = await temporaryMigrations(t)
  await storage.migrate([write('pile', first)])
  const add = (id: number) =>
    storage.transaction(() => run(sql`INSERT INTO pile (id, note) VALUES (${id}, 'own')`))
  await add(1_000_000)
  const order: string[] = []
  const during = async (name: string, id: number, work: () => Promise<unknown>) => {
    const changed = work().then(() => order.push(name))
    const written = add(id).then(() => order.push(`a write after ${name}`))
    let reads = 0
    const turns = await countTurns(async () => {
      for (let isOver = false; !isOver; reads += 1) {
        await storage.one(sql`SELECT note FROM pile WHERE id = 1000000`)
        isOver = await Promise.race([
          changed.then(() => true),
          new Promise<false>((go) => setImmediate(go, false)),
        ])
      }
    })
    await written
    t.ok(turns > 10 && reads > 10, `${name}: ${turns} turns, ${reads} reads`)
  }
  await during('the migration', 1_000_001, () => storage.migrate([write('pile', second)]))
  await during('the way back', 1_000_002, () => storage.undo([{ module: 'pile', name: '002-fill' }]))
  t.strictSame(order.slice(2), ['the way back', 'a write after the way back'])
  const left = await storage.many<{ id: number }>(sql`SELECT id FROM pile WHERE id >= 1000000 ORDER BY id`)
  t.strictSame(
    left.map(({ id }) => id),
    [1_000_000, 1_000_001, 1_000_002],
  )
})

t.test('an error in a thread arrives unchanged, and nothing has changed', async (t) => {
  const { storage, write, objects } = await temporaryMigrations(t)
  await storage.migrate([write('pile', first)])
  const wrong = write('pile', {
    ...first,
    '002-wrong.sql': 'CREATE TABLE pile_more (id); SELECT nothing FROM pile',
  })
  await t.rejects(storage.migrate([wrong]), {
    name: 'MigrationError',
    message: /002-wrong\.sql of pile failed/,
  })
  t.strictSame(await objects(), ['pile'])
  await storage.transaction(() => run(sql`INSERT INTO pile (note) VALUES ('continues')`))
})

t.test('the first migrations of a module start no thread until someone uses the database', async (t) => {
  const { storage, write } = await temporaryMigrations(t)
  let threads = 0
  const count = () => {
    threads += 1
  }
  process.on('worker', count)
  t.teardown(() => process.off('worker', count))
  const create = (module: string) =>
    storage.migrate([write(module, { '001-first.sql': `CREATE TABLE ${module} (id INTEGER PRIMARY KEY)` })])
  await create('pile')
  t.strictSame(await create('heap'), [{ module: 'heap', name: '001-first' }])
  t.equal(threads, 0)
  t.strictSame(await storage.many(sql`SELECT id FROM heap`), [])
  await create('stack')
  t.equal(threads, 1)
})
