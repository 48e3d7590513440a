import { join, type Sql, sql } from '@mortise/module-sdk'
import { openStorage } from '@mortise/storage'
import t from 'tap'
import { checkedDatabase, ownTables } from '../../src/modules/own-tables.ts'

const owners = new Map([
  ['mortise', 'the host'],
  ['note', 'note'],
  ['cart', 'api-cart'],
])

t.test('a read of a table of others is refused, each time', async (t) => {
  const storage = await openStorage({ file: `${t.testdir()}/app.db` })
  t.teardown(() => storage.close())
  for (const name of ['note', 'cart', 'old']) await storage.transaction(() => create(name))
  const guard = await storage.guard('note')
  const database = checkedDatabase(storage, ownTables('note', guard, owners))
  const name = sql`cart`
  const queries = [
    sql`SELECT id FROM cart`,
    sql`SELECT id FROM "main"./**/[cart]`,
    sql`SELECT id FROM ${name}`,
    sql`SELECT note.id FROM note ${join([sql`JOIN cart ON 1`])}`,
  ]
  for (const query of [...queries, ...queries]) {
    await t.rejects(database.many(query), {
      name: 'DatabaseError',
      kind: 'refused',
      message: /note names "cart", which belongs to api-cart: ask that module through a contract/,
    })
    await t.rejects(database.maybeOne(query), { name: 'DatabaseError', message: /belongs to api-cart/ })
  }
  const old = database.many(sql`SELECT id FROM old`)
  await t.rejects(old, { message: /note names "old", which is no table of its own/ })
  await t.rejects(database.many(sql`DROP TABLE note`), {
    kind: 'refused',
    message: /note runs DROP, but a module reads and writes rows.*The statement: DROP TABLE note/,
  })
  t.same(await database.many(sql`SELECT id FROM note`), [])
})

t.test('a statement is judged once, however often it is composed', async (t) => {
  const judged: string[] = []
  const offence = ({ strings }: Sql) => {
    judged.push(strings.join('?'))
    return undefined
  }
  const storage = await openStorage({ file: `${t.testdir()}/app.db` })
  t.teardown(() => storage.close())
  const guard = { form: (query: Sql) => query, offence }
  const database = checkedDatabase(storage, ownTables('note', guard, owners))
  const literal = () => sql`SELECT ${1}`
  const composed = (count: number) => sql`SELECT ${join(Array.from({ length: count }, () => sql`${1}`))}`
  for (let time = 0; time < 3; time += 1)
    for (const query of [literal(), composed(2), composed(3)]) await database.many(query)
  t.same(judged, ['SELECT ?', 'SELECT ?, ?', 'SELECT ?, ?, ?'])
  await t.rejects(database.many(undefined as never), { name: 'TypeError' })
})

function* create(name: string) {
  yield { query: sql`CREATE TABLE ${sql([name] as never)} (id BIGINT)`, want: 'nothing' as const }
}
