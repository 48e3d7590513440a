import { deepEqual } from 'node:assert/strict'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { type Database, many, PagedList, RankedList, run, sql, type Transaction } from '../src/index.ts'
import { sqliteDriver } from './sqlite-driver.ts'

const schema = `
  CREATE TABLE task (
    seq BIGINT PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    owner TEXT NOT NULL,
    state TEXT NOT NULL,
    gone INTEGER NOT NULL
  );
  CREATE INDEX task_of_owner ON task (owner, seq, state) WHERE gone = 0;
  CREATE INDEX task_state ON task (state, seq) WHERE gone = 0;
  CREATE TABLE task_rank (
    level INTEGER NOT NULL, block BIGINT NOT NULL, list TEXT NOT NULL, count BIGINT NOT NULL,
    PRIMARY KEY (level, block, list)
  );
  CREATE TABLE task_group (name TEXT PRIMARY KEY);
  CREATE TABLE task_group_progress (name TEXT PRIMARY KEY, position BIGINT NOT NULL);
  CREATE TABLE task_group_rank (
    name TEXT NOT NULL, list TEXT NOT NULL, level INTEGER NOT NULL, block BIGINT NOT NULL, count BIGINT NOT NULL,
    PRIMARY KEY (name, list, level, block)
  ) WITHOUT ROWID;
  CREATE TABLE task_group_change (
    id INTEGER PRIMARY KEY, name TEXT NOT NULL, position BIGINT NOT NULL, list TEXT NOT NULL, count INTEGER NOT NULL
  );
  CREATE INDEX task_group_change_of_name ON task_group_change (name);
  CREATE TRIGGER task_group_added AFTER INSERT ON task BEGIN
    INSERT INTO task_group_change (name, position, list, count)
    SELECT name, NEW.seq, NEW.state, 1 FROM task_group WHERE name = NEW.owner AND NEW.gone = 0;
  END;
  CREATE TRIGGER task_group_changed AFTER UPDATE OF owner, state, gone ON task BEGIN
    INSERT INTO task_group_change (name, position, list, count)
    SELECT name, OLD.seq, OLD.state, -1 FROM task_group WHERE name = OLD.owner AND OLD.gone = 0;
    INSERT INTO task_group_change (name, position, list, count)
    SELECT NEW.owner, NEW.seq, NEW.state, 1
    WHERE NEW.gone = 0 AND (NEW.owner <> OLD.owner OR EXISTS (SELECT 1 FROM task_group WHERE name = NEW.owner));
  END`

const states = ['open', 'done', 'stuck']
const owners = ['ann', 'ben']

interface Task {
  seq: number
  id: string
  owner: string
  state: string
}

/** Tasks of owners in a database, and beside it as an array. */
function tasksOf(t: Pick<Test, 'teardown'>) {
  const driver = sqliteDriver(schema)
  t.teardown(() => driver.close())
  const transaction = async <Result>(steps: () => Transaction<Result>) => driver.transaction(steps)
  const database = { transaction, snapshot: transaction } as Database
  const ranked = new RankedList('task', { list: 'state', where: sql`gone = 0`, group: 'owner' })
  const tasks = new PagedList<Task>('task', {
    columns: sql`seq, id, owner, state`,
    position: 'seq',
    where: sql`gone = 0`,
    walks: true,
    ranked,
  })
  const model: Task[] = []
  let last = 0
  const own = (group: string, lists: readonly string[]) =>
    model.filter(({ owner, state }) => owner === group && lists.includes(state)).toReversed()

  return {
    driver,
    ranked,
    fold: () => ranked.fold(database),
    /** `count` tasks, in the states by turns. A gap moves them to other blocks. */
    insert(owner: string, count: number, gap = 0) {
      last += gap
      driver.transaction(function* () {
        for (let index = 0; index < count; index += 1) {
          last += 1
          const state = states[index % 7 === 0 ? 1 : 0] as string
          const task = { seq: last, id: `task_${last}`, owner, state }
          model.push(task)
          yield* run(sql`INSERT INTO task VALUES (${last}, ${task.id}, ${owner}, ${state}, 0)`)
        }
      })
    },
    change(index: number, changed: Partial<Task>) {
      const task = model[index % model.length]
      if (!task) return
      Object.assign(task, changed)
      const { seq, owner, state } = task
      driver.transaction(() =>
        run(sql`UPDATE task SET owner = ${owner}, state = ${state} WHERE seq = ${seq}`),
      )
    },
    /** Gives all of them to another owner, in one statement. */
    give(from: string, to: string) {
      for (const task of model) if (task.owner === from) task.owner = to
      driver.transaction(() => run(sql`UPDATE task SET owner = ${to} WHERE owner = ${from} AND gone = 0`))
    },
    remove(index: number) {
      const [task] = model.splice(index % Math.max(model.length, 1), 1)
      if (!task) return
      driver.transaction(() => run(sql`UPDATE task SET gone = 1 WHERE seq = ${task.seq}`))
    },
    isCounted: (group: string) => driver.transaction(() => ranked.isCounted(group)),
    /** The page, and what it should be. With `since` it is of a walk that began when this task was the newest. */
    page(group: string, lists: readonly string[], page: number, rpp: number, since?: number) {
      const newest = since === undefined ? undefined : model[since % model.length]
      const query = { page, rpp, until: newest?.id }
      const rows = { known: sql`TRUE`, group, lists }
      const found = driver.transaction(() => tasks.page(query, rows, ({ seq }) => seq))
      const all = own(group, lists).filter(({ seq }) => newest === undefined || seq <= newest.seq)
      const seqs = all.slice((page - 1) * rpp, page * rpp).map(({ seq }) => seq)
      return [
        { seqs: found.data, total: found.total },
        { seqs, total: all.length },
      ]
    },
    /** What follows the task at `index`, and what it should be. */
    after(group: string, lists: readonly string[], index: number, rpp: number) {
      const { id, seq } = model[index % model.length] as Task
      const query = { page: 1, rpp, after: id }
      const found = driver.transaction(() =>
        tasks.read(query, { known: sql`TRUE`, group, lists }, (task) => task),
      )
      const following = own(group, lists).filter((task) => task.seq < seq)
      return [found.data.map((task) => task.seq), following.slice(0, rpp).map((task) => task.seq)]
    },
  }
}

const owner = fc.constantFrom(...owners)
const index = fc.nat()
const change = fc.oneof(
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('insert'), owner, index }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('move'), owner, index }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('hand'), owner, index }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('remove'), owner, index }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('give'), owner, index }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('fold'), owner, index }) },
)
const question = fc.record({
  owner,
  lists: fc.uniqueArray(fc.constantFrom(...states), { minLength: 1 }),
  page: fc.integer({ min: 1, max: 80 }),
  rpp: fc.integer({ min: 1, max: 20 }),
  index,
})

t.test('a page of a group is what an array would give, at every step of the counting', async (t) => {
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 250, max: 1100 }),
      fc.integer({ max: 5000, min: 0 }),
      fc.array(fc.tuple(change, question), { maxLength: 25 }),
      async (count, gap, steps) => {
        const tasks = tasksOf(t)
        tasks.insert('ann', count)
        tasks.insert('ben', 3, gap)
        for (const [{ kind, owner, index }, { lists, page, rpp, ...asked }] of steps) {
          if (kind === 'insert') tasks.insert(owner, 1 + (index % 300), index % 50)
          else if (kind === 'move') tasks.change(index, { state: states[index % 3] as string })
          else if (kind === 'hand') tasks.change(index, { owner })
          else if (kind === 'remove') tasks.remove(index)
          else if (kind === 'give') tasks.give(owner, owner === 'ann' ? 'ben' : 'ann')
          else await tasks.fold()
          const [found, expected] = tasks.page(asked.owner, lists, page, rpp)
          deepEqual(found, expected)
          const [earlier, expectedEarlier] = tasks.page(asked.owner, lists, page, rpp, asked.index)
          deepEqual(earlier, expectedEarlier)
          const [following, ofThem] = tasks.after(asked.owner, lists, asked.index, rpp)
          deepEqual(following, ofThem)
        }
        while (await tasks.fold());
        const counts = tasks.driver.transaction(() =>
          many<{ name: string; list: string; count: number }>(sql`
            SELECT name, list, sum(count) AS count FROM task_group_rank WHERE level = 1 GROUP BY name, list
            EXCEPT SELECT owner, state, count(*) FROM task WHERE gone = 0 GROUP BY owner, state`),
        )
        deepEqual(counts, [], 'no count differs from COUNT(*)')
      },
    ),
    { numRuns: 40 },
  )
})

t.test('only a large group is counted, and once it is large', async (t) => {
  const tasks = tasksOf(t)
  tasks.insert('ann', 256)
  while (await tasks.fold());
  t.equal(tasks.isCounted('ann'), false)
  tasks.insert('ann', 1)
  while (await tasks.fold());
  t.equal(tasks.isCounted('ann'), true)
})

t.test('a group that becomes large by rows of another one is counted', async (t) => {
  const tasks = tasksOf(t)
  tasks.insert('ann', 200)
  tasks.insert('ben', 200)
  while (await tasks.fold());
  tasks.give('ann', 'ben')
  while (await tasks.fold());
  t.equal(tasks.isCounted('ben'), true)
  t.equal(tasks.isCounted('ann'), false)
})

t.test('a large group is counted a slice at a time, also while it changes', async (t) => {
  const tasks = tasksOf(t)
  tasks.insert('ann', 2000)
  let folds = 0
  while (await tasks.fold()) {
    folds += 1
    tasks.remove(folds * 7)
    tasks.change(1990 - folds, { state: 'stuck' })
    const [found, expected] = tasks.page('ann', states, 3, 20)
    t.strictSame(found, expected)
  }
  t.ok(folds >= 4, `${folds} transactions`)
  t.equal(tasks.isCounted('ann'), true)
  const [found, expected] = tasks.page('ann', ['stuck'], 1, 20)
  t.strictSame(found, expected)
})

t.test('a list without groups has none', async (t) => {
  const { driver } = tasksOf(t)
  const plain = new RankedList('task', { list: 'state', where: sql`gone = 0` })
  t.equal(
    driver.transaction(() => plain.isCounted('ann')),
    false,
  )
  const query = { lists: states, group: 'ann', columns: sql`seq`, page: 1, rpp: 1 }
  t.throws(() => driver.transaction(() => plain.page(query)), /declare `group`/)
})
