import t, { type Test } from 'tap'
import { type ListedRows, newId, PagedList, run, sql } from '../src/index.ts'
import { sqliteDriver } from './sqlite-driver.ts'

const schema = `
  CREATE TABLE note (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    owner TEXT NOT NULL,
    kind TEXT NOT NULL,
    gone INTEGER NOT NULL DEFAULT 0
  )`

interface Note {
  id: string
  kind: string
}

const columns = sql`id, kind`
const bySeq = new PagedList<Note>('note', { columns, position: 'seq', where: sql`gone = 0`, walks: true })
const byId = new PagedList<Note>('note', { columns, where: sql`gone = 0` })
const anns = { where: { owner: 'ann' } }

/** Notes of two callers, in turns. Returns the ids of ann's notes, newest first. */
function fill(t: Pick<Test, 'teardown'>, count: number) {
  const database = sqliteDriver(schema)
  t.teardown(() => database.close())
  const ids: string[] = []
  const insert = (owner: string) => {
    const id = newId('note')
    const kind = ids.length % 2 === 0 ? 'even' : 'odd'
    database.transaction(() => run(sql`INSERT INTO note (id, owner, kind) VALUES (${id}, ${owner}, ${kind})`))
    return id
  }
  const add = () => ids.unshift(insert('ann'))
  for (let index = 0; index < count; index += 1) {
    add()
    insert('ben')
  }
  const remove = (id: string) =>
    database.transaction(() => run(sql`UPDATE note SET gone = 1 WHERE id = ${id}`))
  const page = (query: object, rows: ListedRows = anns, list = bySeq) =>
    database.transaction(() => list.page({ page: 1, rpp: 2, ...query }, rows, ({ id }) => id))
  const read = (query: object, rows: ListedRows = anns, list = bySeq) =>
    database.transaction(() => list.read({ page: 1, rpp: 2, ...query }, rows, (note) => note))
  return { add, database, ids, page, read, remove }
}

t.test('a page has the rows of its number, newest first, and the exact total', async (t) => {
  const { ids, page } = fill(t, 5)
  t.match(page({}), { data: [ids[0], ids[1]], page: 1, rpp: 2, total: 5, totalIsExact: true })
  t.match(page({ page: 3 }), { data: [ids[4]], total: 5 })
  t.match(page({ page: 4 }), { data: [], total: 5 })
  t.strictSame(page({}, anns, byId), {
    data: [ids[0], ids[1]],
    page: 1,
    rpp: 2,
    total: 5,
    totalIsExact: true,
  })
})

t.test('pages and an exact total end at row 10,000, and `after` reads on', async (t) => {
  const { database, page, read } = fill(t, 0)
  const insert = (first: number, last: number) =>
    database.transaction(() =>
      run(sql`
        WITH RECURSIVE row (number) AS (VALUES (${first}) UNION ALL SELECT number + 1 FROM row WHERE number < ${last})
        INSERT INTO note (id, owner, kind) SELECT 'note_' || CAST(number AS INTEGER), 'ann', 'even' FROM row`),
    )
  insert(1, 10_000)
  const last = { page: 100, rpp: 100 }
  t.match(page(last), { total: 10_000, totalIsExact: true, data: { length: 100, 99: 'note_1' } })
  insert(10_001, 10_001)
  t.match(page(last), { total: 10_000, totalIsExact: false, data: { length: 100, 99: 'note_2' } })
  t.match(page({ page: 3_334, rpp: 3 }), { data: ['note_2', 'note_1'] }, 'the last page begins at row 10,000')
  const errors = [{ parameter: 'page', detail: /^must be 100 or less.*`after`/ }]
  t.throws(() => page({ page: 101, rpp: 100 }), { code: 'invalid-request', members: { errors } })
  t.throws(() => page({ page: 2_147_483_647, rpp: 100 }), { code: 'invalid-request', members: { errors } })
  t.match(read({ after: 'note_2' }), { data: [{ id: 'note_1' }], more: false })
})

t.test('an ascending list begins with the smallest position', async (t) => {
  const { ids, page } = fill(t, 3)
  const oldest = new PagedList<Note>('note', { columns, ascending: true })
  t.strictSame(page({}, anns, oldest).data, [ids[2], ids[1]])
})

t.test('a walk shows the list as it was at the start', async (t) => {
  const { add, ids, page, remove } = fill(t, 3)
  const [newest, second, third] = ids
  const { until } = page({})
  t.equal(until, newest)
  add()
  t.match(page({ until }), { data: [newest, second], total: 3, until })
  remove(newest as string)
  t.match(page({ until }), { data: [second, third], total: 2, until })
})

t.test('an empty list has an empty `until`', async (t) => {
  t.strictSame(fill(t, 0).page({}), { data: [], page: 1, rpp: 2, total: 0, totalIsExact: true, until: '' })
})

t.test('a filter leaves rows out, and the start of the walk alone', async (t) => {
  const { ids, page } = fill(t, 3)
  t.match(page({}, { ...anns, filter: sql`kind = 'odd'` }), {
    data: [ids[1]],
    total: 1,
    until: ids[0],
  })
})

t.test('a filter is tried on many rows, and each statement tries a limited number', async (t) => {
  const { database, page, read } = fill(t, 0)
  database.transaction(() =>
    run(sql`
      WITH RECURSIVE row (number) AS (VALUES (1) UNION ALL SELECT number + 1 FROM row WHERE number < 3500)
      INSERT INTO note (id, owner, kind)
      SELECT 'note_' || CAST(number AS INTEGER), 'ann', CASE WHEN number % 700 = 0 THEN 'odd' ELSE 'even' END FROM row`),
  )
  const odd = { ...anns, filter: sql`kind = 'odd'` }
  t.match(page({}, odd), { data: ['note_3500', 'note_2800'], total: 5, totalIsExact: true })
  t.match(page({ page: 3 }, odd), { data: ['note_700'], total: 5 })
  t.match(page({ page: 4 }, odd), { data: [], total: 5 })
  t.match(page({ until: 'note_2800' }, odd), { data: ['note_2800', 'note_2100'], total: 4 })
  t.match(read({ after: 'note_2801' }, odd), { data: [{ id: 'note_2800' }, { id: 'note_2100' }], more: true })
  t.match(read({ after: 'note_1401' }, odd), { data: [{ id: 'note_1400' }, { id: 'note_700' }], more: false })
  t.match(page({}, { ...anns, filter: sql`kind = 'even'` }), {
    data: ['note_3499', 'note_3498'],
    total: 3495,
  })
  const oldest = new PagedList<Note>('note', { columns, position: 'seq', ascending: true })
  t.match(page({ page: 2 }, odd, oldest), { data: ['note_2100', 'note_2800'], total: 5 })
})

t.test('several values of several columns are one list, in its order', async (t) => {
  const { ids, page, read, remove } = fill(t, 5)
  const kinds = { where: { owner: ['ann', 'carl'], kind: ['odd', 'even', 'none'] } }
  t.match(page({}, kinds), { data: [ids[0], ids[1]], total: 5, until: ids[0] })
  t.match(page({ page: 2 }, kinds), { data: [ids[2], ids[3]], total: 5 })
  t.match(page({}, { where: { owner: 'ann', kind: 'odd' } }), { data: [ids[1], ids[3]], total: 2 })
  t.match(page({}, { where: { owner: ['ann', 'ben'] } }), { total: 10 })
  t.match(page({}, { where: { owner: [] } }), { data: [], total: 0, until: '' })
  remove(ids[1] as string)
  t.match(read({ after: ids[0] }, kinds), { data: [{ id: ids[2] }, { id: ids[3] }], more: true })
  const oldest = new PagedList<Note>('note', { columns, position: 'seq', ascending: true })
  t.match(read({ after: ids[3] }, kinds, oldest), { data: [{ id: ids[2] }, { id: ids[1] }], more: true })
})

for (const [name, list] of Object.entries({ bySeq, byId })) {
  t.test(`what follows a row does so after that row is gone (${name})`, async (t) => {
    const { ids, read, remove } = fill(t, 4)
    remove(ids[0] as string)
    t.match(read({ after: ids[0] }, anns, list), {
      data: [{ id: ids[1] }, { id: ids[2] }],
      rpp: 2,
      more: true,
    })
    t.match(read({ after: ids[2] }, anns, list), { data: [{ id: ids[3] }], more: false })
  })

  t.test(`an id that the list cannot have is an invalid parameter (${name})`, async (t) => {
    const { read } = fill(t, 1)
    for (const after of ['', 'x', newId('other')]) {
      t.throws(() => read({ after }, anns, list), {
        code: 'invalid-request',
        members: { errors: [{ parameter: 'after' }] },
      })
    }
  })
}

t.test("another caller's id is as unknown as one that never existed, unless it is known", async (t) => {
  const { ids, read, page } = fill(t, 1)
  const bens = { where: { owner: ['ben', 'carl'] } }
  t.throws(() => read({ after: ids[0] }, bens), { code: 'invalid-request' })
  t.throws(() => page({ until: ids[0] }, bens), { code: 'invalid-request' })
  t.match(read({ after: ids[0] }, { ...bens, known: {} }), { data: [], more: false })
})
