import { deepEqual } from 'node:assert/strict'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { many, one, RankedList, run, Sql, type Statement, sql } from '../src/index.ts'
import { sqliteDriver } from './sqlite-driver.ts'

const schema = `
  CREATE TABLE task (
    seq BIGINT PRIMARY KEY,
    label TEXT NOT NULL,
    state TEXT NOT NULL,
    gone INTEGER NOT NULL
  );
  CREATE INDEX task_state ON task (state, seq) WHERE gone = 0;
  CREATE TABLE task_rank (
    level INTEGER NOT NULL,
    block BIGINT NOT NULL,
    list TEXT NOT NULL,
    count BIGINT NOT NULL CHECK (count >= 0),
    PRIMARY KEY (level, block, list)
  )`

const states = ['open', 'done', 'stuck']

interface Task {
  seq: number
  state: string
}

/** A list of tasks, and beside it the same as an array. `first` is the position that the first task gets. */
function taskList(t: Pick<Test, 'teardown'>, first = 1) {
  const database = sqliteDriver(schema)
  t.teardown(() => database.close())
  const ranked = new RankedList('task', { list: 'state', where: sql`gone = 0` })
  const model: Task[] = []
  if (first > 1) {
    database.transaction(() => run(sql`INSERT INTO task VALUES (${first - 1}, 'gap', 'open', 1)`))
  }

  return {
    database,
    ranked,
    insert(state: string): Task {
      const task = database.transaction(function* () {
        yield* ranked.insert({
          columns: sql`label, state, gone`,
          values: sql`'a task', ${state}, 0`,
          list: state,
        })
        const { seq } = yield* one<{ seq: number }>(sql`SELECT max(seq) AS seq FROM task`)
        return { seq, state }
      })
      model.push(task)
      return task
    },
    move(index: number, state: string) {
      const task = model[index % model.length]
      if (!task) return
      database.transaction(function* () {
        yield* run(sql`UPDATE task SET state = ${state} WHERE seq = ${task.seq}`)
        yield* ranked.move(task.seq, task.state, state)
      })
      task.state = state
    },
    remove(index: number) {
      const [task] = model.splice(index % Math.max(model.length, 1), 1)
      if (!task) return
      database.transaction(function* () {
        yield* run(sql`UPDATE task SET gone = 1 WHERE seq = ${task.seq}`)
        yield* ranked.remove(task.seq, task.state)
      })
    },
    page(lists: readonly string[], page: number, rpp: number, until?: number) {
      return database.transaction(() =>
        ranked.page<{ seq: number; label: string }>({ lists, page, rpp, until, columns: sql`seq, label` }),
      )
    },
    after(lists: readonly string[], position: number, limit: number) {
      const rows = database.transaction(() =>
        ranked.after<{ seq: number }>({ lists, position, limit, columns: sql`seq` }),
      )
      return rows.map((row) => row.seq)
    },
    expectedAfter: (lists: readonly string[], position: number, limit: number) =>
      model
        .filter((task) => lists.includes(task.state) && task.seq < position)
        .map((task) => task.seq)
        .reverse()
        .slice(0, limit),
    expected(lists: readonly string[], page: number, rpp: number, until = Number.POSITIVE_INFINITY) {
      const all = model.filter((task) => lists.includes(task.state) && task.seq <= until).reverse()
      return { seqs: all.slice((page - 1) * rpp, page * rpp).map((task) => task.seq), total: all.length }
    },
  }
}

const state = fc.constantFrom(...states)
const change = fc.oneof(
  { weight: 5, arbitrary: fc.record({ kind: fc.constant('insert' as const), state }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('move' as const), index: fc.nat(), state }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('remove' as const), index: fc.nat() }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('mark' as const) }) },
)
const question = fc.record({
  lists: fc.uniqueArray(state, { minLength: 1 }),
  page: fc.integer({ min: 1, max: 12 }),
  rpp: fc.integer({ min: 1, max: 9 }),
  walk: fc.option(fc.nat()),
})

/** Where a block of each level ends. */
const boundaries = [64, 64 ** 2, 64 ** 3]

t.test('answers what an array would, whatever was inserted, moved and removed', async (t) => {
  const start = fc.constantFrom(1, ...boundaries.map((boundary) => boundary - 7), 1_000_000)
  fc.assert(
    fc.property(
      start,
      fc.array(change, { maxLength: 60 }),
      fc.array(question, { maxLength: 8 }),
      (first, changes, questions) => {
        const list = taskList(t, first)
        const marks: number[] = []
        for (const change of changes) {
          if (change.kind === 'insert') list.insert(change.state)
          else if (change.kind === 'move') list.move(change.index, change.state)
          else if (change.kind === 'remove') list.remove(change.index)
          else marks.push(list.page(states, 1, 1).until)
        }
        for (const { lists, page, rpp, walk } of questions) {
          const until = walk === null ? undefined : marks[walk % Math.max(marks.length, 1)]
          const found = list.page(lists, page, rpp, until)
          const { seqs, total } = list.expected(lists, page, rpp, until)
          deepEqual({ seqs: found.rows.map((row) => row.seq), total: found.total }, { seqs, total })
          const cursor = first + page * rpp
          deepEqual(list.after(lists, cursor, rpp), list.expectedAfter(lists, cursor, rpp))
        }
      },
    ),
    { numRuns: 150 },
  )
})

for (const boundary of boundaries) {
  t.test(`finds every row on both sides of position ${boundary}`, async (t) => {
    const list = taskList(t, boundary - 10)
    for (let index = 0; index < 20; index++) list.insert(states[index % 2] as string)
    const found = Array.from(
      { length: 20 },
      (_, index) => list.page(['open', 'done'], index + 1, 1).rows[0]?.seq,
    )
    t.same(
      found,
      Array.from({ length: 20 }, (_, index) => boundary + 9 - index),
    )
  })
}

t.test('the pages of a walk show every row once while rows are added', async (t) => {
  const list = taskList(t)
  for (let index = 0; index < 1100; index++) list.insert(states[index % 2] as string)
  const lists = ['open', 'done']
  const first = list.page(lists, 1, 100)
  const seen = first.rows.map((row) => row.seq)
  for (let page = 2; page <= 11; page++) {
    list.insert('open')
    const next = list.page(lists, page, 100, first.until)
    t.equal(next.total, 1100)
    seen.push(...next.rows.map((row) => row.seq))
  }
  t.same(
    seen,
    Array.from({ length: 1100 }, (_, index) => 1100 - index),
  )
})

t.test('selects the columns asked for', async (t) => {
  const list = taskList(t)
  list.insert('open')
  t.same(list.page(['open'], 1, 20).rows, [{ seq: 1, label: 'a task' }])
})

t.test('an empty list has an empty page, and a walk of it stays empty', async (t) => {
  const list = taskList(t)
  const empty = list.page(states, 1, 20)
  t.same(empty, { rows: [], total: 0, until: 0 })
  list.insert('open')
  t.same(list.page(states, 1, 20, empty.until), { rows: [], total: 0, until: 0 })
})

t.test('a walk begins at the newest row that is still on the lists', async (t) => {
  const list = taskList(t)
  for (const state of ['open', 'done', 'open', 'open']) list.insert(state)
  list.remove(3)
  t.equal(list.page(['open', 'done'], 1, 20).until, 3)
  t.equal(list.page(['done'], 1, 20).until, 2)
})

t.test('a page past the end is empty and keeps the total', async (t) => {
  const list = taskList(t)
  list.insert('open')
  t.same(list.page(states, 2_147_483_647, 100), { rows: [], total: 1, until: 1 })
})

t.test('a position is not given again after its row left the list', async (t) => {
  const list = taskList(t)
  list.insert('open')
  list.remove(0)
  t.equal(list.insert('open').seq, 2)
})

t.test('refuses to remove a row that was never added', async (t) => {
  const list = taskList(t)
  list.insert('open')
  t.throws(
    () => list.database.transaction(() => list.ranked.remove(1, 'done')),
    /never added to the list "done"/,
  )
  t.throws(() => list.database.transaction(() => list.ranked.move(9000, 'open', 'done')), /position 9000/)
  t.equal(list.page(states, 1, 20).total, 1)
})

t.test('scans no table or index whole', async (t) => {
  const list = taskList(t)
  for (let index = 0; index < 3; index++) list.insert('open')
  const plans: string[] = []
  const lists = ['open', 'done']
  const columns = sql`seq`
  for (const steps of [
    list.ranked.page({ lists, page: 1, rpp: 2, columns }),
    list.ranked.after({ lists, position: 3, limit: 2, columns }),
  ]) {
    let next = steps.next()
    while (!next.done) {
      const { query } = next.value as Statement
      const rows = list.database.transaction(() => many<object>(query))
      const strings = [`EXPLAIN QUERY PLAN ${query.strings[0]}`, ...query.strings.slice(1)]
      const plan = list.database.transaction(() => many<{ detail: string }>(new Sql(strings, query.values)))
      plans.push(...plan.map((row) => row.detail))
      next = steps.next(rows)
    }
  }
  t.same(
    plans.filter((detail) => /^SCAN (task|task_rank)\b/.test(detail)),
    [],
  )
})

t.test('a new row costs the same among many', async (t) => {
  const { database, insert } = taskList(t)
  database.transaction(() =>
    run(sql`
      WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200000)
      INSERT INTO task SELECT i, 'old', 'open', 0 FROM n`),
  )
  const least = (work: () => unknown) =>
    Math.min(
      ...Array.from({ length: 10 }, () => {
        const begun = performance.now()
        work()
        return performance.now() - begun
      }),
    )
  const ofAll = least(() => database.transaction(() => one(sql`SELECT count(seq + 0) AS count FROM task`)))
  const ofOne = least(() => insert('open'))
  t.ok(ofOne * 10 < ofAll, `${ofOne} ms, and to read all rows ${ofAll} ms`)
})
