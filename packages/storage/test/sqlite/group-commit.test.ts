import { join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { DatabaseError, many, run, type Sql, sql, type Transaction } from '@mortise/module-sdk'
import SqliteDatabase from 'better-sqlite3'
import t, { type Test } from 'tap'
import { BrokenStorageError } from '../../src/port/errors.ts'
import { Connection } from '../../src/sqlite/connection.ts'
import { GroupCommit } from '../../src/sqlite/group-commit.ts'
import { insertItem, locked, memoryConnection, SCHEMA } from '../temporary-storage.ts'

/** A connection that counts its COMMITs, and can be made to fail them or to find the lock taken. */
class ObservedConnection extends Connection {
  commits = 0
  syncing: Promise<void> | undefined
  failure: DatabaseError | undefined
  onBegin = () => {}

  override begin() {
    this.onBegin()
    super.begin()
  }

  override commit() {
    this.commits++
    if (this.failure !== undefined) throw this.failure
    return super.commit()
  }

  override async sync() {
    await this.syncing
  }
}

const noReads = { hold() {}, release() {} }

function group(t: Test, schema = SCHEMA, rehearse = false) {
  const connection = new ObservedConnection(memoryConnection(t, schema).database)
  const broken: Error[] = []
  const commit = new GroupCommit(connection, noReads, { onBroken: (error) => broken.push(error), rehearse })
  const ids = () => connection.all<{ id: number }>(sql`SELECT id FROM item ORDER BY id`).map(({ id }) => id)
  return { connection, commit, broken, ids }
}

const insert = (id: number, name = `item ${id}`) =>
  function* (): Transaction<number> {
    yield* run(insertItem(id, name))
    return id
  }

/** Settled promises in short: a result, or the kind or message of an error. */
async function outcomes(promises: Promise<unknown>[]): Promise<unknown[]> {
  return (await Promise.allSettled(promises)).map((one) =>
    one.status === 'fulfilled' ? one.value : (one.reason.kind ?? one.reason.message),
  )
}

t.test('transactions of one turn share one COMMIT and settle after it', async (t) => {
  const { commit, connection, ids } = group(t)
  let settled = 0
  const promises = [1, 2, 3].map((id) => commit.transaction(insert(id)))
  for (const promise of promises) {
    promise.then(() => {
      settled++
      t.equal(connection.commits, 1)
      t.notOk(connection.inTransaction)
    })
  }
  await Promise.resolve()
  t.equal(settled, 0)
  t.strictSame(await Promise.all(promises), [1, 2, 3])
  t.strictSame(ids(), [1, 2, 3])
  t.equal(connection.commits, 1)
  await commit.transaction(insert(4))
  t.equal(connection.commits, 2)
})

t.test('nothing settles before the log is on the disk; the next group waits', async (t) => {
  const { commit, connection } = group(t)
  const { promise, resolve } = Promise.withResolvers<void>()
  connection.syncing = promise
  let settled = 0
  const count = () => (settled += 1)
  const first = commit.transaction(insert(1)).then(count)
  for (let turn = 0; turn < 5; turn += 1) await nextTurn()
  t.equal(connection.commits, 1)
  const second = commit.transaction(insert(2)).then(count)
  for (let turn = 0; turn < 5; turn += 1) await nextTurn()
  t.equal(connection.commits, 1)
  t.equal(settled, 0)
  resolve()
  await Promise.all([first, second])
  t.equal(connection.commits, 2)
})

t.test('after a failed sync the outcome is unknown, and nothing more is written', async (t) => {
  const { commit, connection, broken } = group(t)
  const failure = new BrokenStorageError('the disk is gone', {}, 'unknown-outcome')
  const { promise, reject } = Promise.withResolvers<void>()
  connection.syncing = promise
  const lost = outcomes([1, 2].map((id) => commit.transaction(insert(id))))
  for (let turn = 0; turn < 5; turn += 1) await nextTurn()
  const behind = outcomes([commit.transaction(insert(3))])
  reject(failure)
  t.strictSame(await lost, ['unknown-outcome', 'unknown-outcome'])
  t.strictSame(await behind, ['unavailable'])
  t.strictSame(broken, [failure])
  t.equal(connection.commits, 1)
})

t.test('a failed transaction is undone and rejects alone', async (t) => {
  const { commit, connection, ids } = group(t)
  const mine = new Error('mine')
  const promises = [
    commit.transaction(insert(1)),
    commit.transaction(function* () {
      yield* run(insertItem(2, 'two'))
      yield* run(insertItem(1, 'one'))
    }),
    commit.transaction(function* () {
      yield* run(insertItem(3, 'three'))
      throw mine
    }),
    commit.transaction(() => {
      throw mine
    }),
    commit.transaction(insert(2, 'two')),
  ]
  t.strictSame(await outcomes(promises), [1, 'unique', 'mine', 'mine', 2])
  t.strictSame(ids(), [1, 2])
  t.equal(connection.commits, 1)
})

t.test('a group runs again after a failed write, not after a failed read; later ones do not', async (t) => {
  const { commit, ids } = group(t)
  let runs = 0
  const counted = (id: number) => () => {
    runs += 1
    return insert(id)()
  }
  const reading = function* (): Transaction<void> {
    yield* many(sql`SELECT id FROM item`)
    throw new Error('read')
  }
  const writing = function* (): Transaction<void> {
    yield* run(insertItem(9, 'nine'))
    throw new Error('wrote')
  }
  t.strictSame(await outcomes([commit.transaction(counted(1)), commit.transaction(reading)]), [1, 'read'])
  t.equal(runs, 1)
  t.strictSame(await outcomes([commit.transaction(counted(2)), commit.transaction(writing)]), [2, 'wrote'])
  t.equal(runs, 3)
  t.strictSame(await outcomes([commit.transaction(counted(3)), commit.transaction(writing)]), [3, 'wrote'])
  t.equal(runs, 4)
  t.strictSame(ids(), [1, 2, 3])
})

t.test('a transaction that fails alone after a write runs once, and leaves nothing', async (t) => {
  const { commit, ids } = group(t)
  let runs = 0
  const writing = function* (): Transaction<void> {
    runs += 1
    yield* run(insertItem(9, 'nine'))
    throw new Error('wrote')
  }
  t.strictSame(await outcomes([commit.transaction(writing)]), ['wrote'])
  t.equal(runs, 1)
  t.strictSame(await outcomes([commit.transaction(insert(1))]), [1])
  t.strictSame(ids(), [1])
})

t.test('a rejection waits for the COMMIT too', async (t) => {
  const { commit, connection } = group(t)
  const failing = commit.transaction(() => many(sql`SELECT nothing`))
  const after = commit.transaction(insert(1))
  await t.rejects(failing, { name: 'DatabaseError', kind: 'other' })
  t.equal(connection.commits, 1)
  await after
})

t.test('later members see what earlier ones of the group wrote', async (t) => {
  const { commit } = group(t)
  const count = () => many<{ n: number }>(sql`SELECT count(*) AS n FROM item`)
  const [, rows] = await Promise.all([commit.transaction(insert(1)), commit.transaction(count)])
  t.strictSame(rows, [{ n: 1 }])
})

t.test('a deferred key that fails the COMMIT fails its own member only', async (t) => {
  const { commit, connection, ids } = group(t)
  const promises = [
    commit.transaction(insert(1)),
    commit.transaction(function* () {
      yield* run(insertItem(2, 'two'))
      yield* run(sql`INSERT INTO late VALUES (1, 99)`)
    }),
    commit.transaction(insert(2, 'two')),
    commit.transaction(insert(3)),
  ]
  t.strictSame(await outcomes(promises), [1, 'foreign-key', 2, 3], 'its neighbour no longer collides with it')
  t.strictSame(ids(), [1, 2, 3])
  t.equal(connection.commits, 5, 'once together, then each alone')
})

t.test('a group member that ends the transaction affects no other', async (t) => {
  const { commit, connection, ids } = group(
    t,
    `${SCHEMA} CREATE TRIGGER ends BEFORE INSERT ON child BEGIN SELECT RAISE(ROLLBACK, 'gone'); END;`,
  )
  const promises = [
    commit.transaction(insert(1)),
    commit.transaction(function* () {
      yield* run(insertItem(2, 'two'))
      try {
        yield* run(sql`INSERT INTO child VALUES (1, 1)`)
      } catch {
        yield* run(insertItem(3, 'in autocommit'))
      }
    }),
    commit.transaction(insert(4)),
  ]
  t.strictSame(await outcomes(promises), [1, 'other', 4])
  t.strictSame(ids(), [1, 4])
  t.notOk(connection.inTransaction)
})

t.test('a full database fails the writes that do not fit', async (t) => {
  const { commit, connection, broken, ids } = group(t)
  const pages = connection.database.pragma('page_count', { simple: true }) as number
  connection.database.pragma(`max_page_count = ${pages + 4}`)
  const promises = [
    commit.transaction(insert(1)),
    commit.transaction(insert(2, 'x'.repeat(100_000))),
    commit.transaction(insert(3)),
  ]
  t.strictSame(await outcomes(promises), [1, 'full', 3])
  t.strictSame(ids(), [1, 3])
  t.strictSame(broken, [])
})

t.test('a group has a maximum size, so others get their turn', async (t) => {
  const { commit, connection } = group(t)
  const promises = Array.from({ length: 300 }, (_, id) => commit.transaction(insert(id)))
  await Promise.race(promises)
  t.equal(connection.commits, 1)
  await Promise.all(promises)
  t.equal(connection.commits, 3)
})

t.test('a transaction started while another settles is taken', async (t) => {
  const { commit, ids } = group(t)
  await commit.transaction(insert(1)).then(() => commit.transaction(insert(2)))
  await commit.transaction(insert(3))
  t.strictSame(ids(), [1, 2, 3])
})

t.test('a COMMIT that fails on a bad disk is fatal, and only its own group is in doubt', async (t) => {
  const { commit, connection, broken } = group(t)
  const failure = new BrokenStorageError('the disk is gone', {}, 'unknown-outcome')
  connection.failure = failure
  const refused = function* (): Transaction<number> {
    yield* run(insertItem(0, 'twice'))
    throw new Error('refused')
  }
  const promises = Array.from({ length: 200 }, (_, id) => commit.transaction(id === 7 ? refused : insert(id)))
  t.strictSame(await outcomes(promises), [
    ...Array.from({ length: 128 }, () => 'unknown-outcome'),
    ...Array.from({ length: 72 }, () => 'unavailable'),
  ])
  t.equal(connection.commits, 1)
  t.strictSame(broken, [failure])
  await t.rejects(commit.transaction(insert(1)), { kind: 'unavailable', cause: failure })
})

t.test('an I/O error before the COMMIT has changed nothing', async (t) => {
  const { commit, connection, broken } = group(t)
  const fails = function* (): Transaction<number> {
    yield* run(insertItem(9, 'nine'))
    throw new BrokenStorageError('the disk is gone')
  }
  t.strictSame(await outcomes([1, 2, 3].map((id) => commit.transaction(id === 2 ? fails : insert(id)))), [
    'unavailable',
    'unavailable',
    'unavailable',
  ])
  t.equal(connection.commits, 0)
  t.equal(broken.length, 1)
})

t.test('a failure after a COMMIT does not undo it', async (t) => {
  const connection = memoryConnection(t, SCHEMA)
  const observer = {
    retried() {},
    committed() {
      throw new Error('nobody counts')
    },
  }
  const commit = new GroupCommit(connection, noReads, { onBroken: () => {}, rehearse: false, observer })
  t.strictSame(await outcomes([1, 2].map((id) => commit.transaction(insert(id)))), [1, 2])
})

t.test('an end takes what is queued and nothing more', async (t) => {
  const { commit, ids } = group(t)
  const promises = [1, 2].map((id) => commit.transaction(insert(id)))
  const closed = new Error('closed')
  const ended = commit.end(closed)
  await t.rejects(commit.transaction(insert(3)), closed)
  await ended
  t.strictSame(ids(), [1, 2])
  t.strictSame(await Promise.all(promises), [1, 2])
  await commit.end(closed)
})

t.test('an abort rejects what is queued without running it', async (t) => {
  const { commit, connection, broken } = group(t)
  const error = new BrokenStorageError('corrupt')
  const promise = commit.transaction(insert(1))
  commit.abort(error)
  await t.rejects(promise, error)
  await nextTurn()
  t.equal(connection.commits, 0)
  t.strictSame(broken, [], 'a caller who aborts knows already')
})

t.test('a lock that stays taken fails one group, not the next', async (t) => {
  const { commit, connection, broken, ids } = group(t)
  const now = performance.now.bind(performance)
  let passed = 0
  t.intercept(performance, 'now', { value: () => now() + passed })
  connection.onBegin = () => {
    passed += 60_000
    throw locked()
  }
  t.strictSame(await outcomes([1, 2].map((id) => commit.transaction(insert(id)))), ['busy', 'busy'])
  connection.onBegin = () => {}
  t.equal(await commit.transaction(insert(3)), 3)
  t.strictSame([ids(), broken], [[3], []])
})

t.test('an abort reaches a group that waits for the lock', async (t) => {
  const { commit, connection } = group(t)
  const error = new BrokenStorageError('corrupt')
  connection.onBegin = () => {
    connection.onBegin = () => {}
    commit.abort(error)
    throw locked()
  }
  await t.rejects(commit.transaction(insert(1)), error)
  t.equal(connection.commits, 0)
})

t.test('repeated members keep their place in the queue', async (t) => {
  const { commit } = group(t)
  const first = [
    commit.transaction(insert(1, 'the first')),
    commit.transaction(() => run(sql`INSERT INTO late VALUES (1, 999)`)),
  ]
  const others = Array.from({ length: 126 }, (_, index) => commit.transaction(insert(index + 2)))
  const last = commit.transaction(insert(1, 'the last'))
  t.strictSame(await outcomes([...first, last]), [1, 'foreign-key', 'unique'])
  await Promise.all(others)
})

t.test('a rehearsal runs each transaction twice and keeps the second', async (t) => {
  const { commit, ids } = group(t, SCHEMA, true)
  const runs: number[] = []
  const counted = (id: number, query: Sql) => () => {
    runs.push(id)
    return run(query)
  }
  const promises = [
    commit.transaction(counted(1, insertItem(1, 'a'))),
    commit.transaction(counted(2, sql`INSERT INTO late VALUES (1, 999)`)),
    commit.transaction(counted(3, insertItem(1, 'b'))),
  ]
  t.strictSame(await outcomes(promises), [1, 'foreign-key', 'unique'])
  t.strictSame(runs.slice(0, 6), [1, 1, 2, 2, 3, 3])
  t.strictSame(ids(), [1])
})

t.test(
  'where there is no room each member is refused for itself, and writes go on once there is',
  async (t) => {
    const file = join(t.testdir(), 'app.db')
    const database = new SqliteDatabase(file)
    t.teardown(() => database.close())
    database.pragma('journal_mode = WAL')
    database.exec(SCHEMA)
    const connection = new Connection(database)
    const full: DatabaseError[] = []
    const commit = new GroupCommit(connection, noReads, {
      onBroken: (error) => t.fail(error.message),
      onShortage: (error) => full.push(error),
      rehearse: false,
    })
    await commit.transaction(insert(1))
    const limit = (pages: number) => database.pragma(`max_page_count = ${pages}`)
    limit(database.pragma('page_count', { simple: true }) as number)
    const large = (id: number) => insert(id, `${id}${'x'.repeat(20_000)}`)
    const promises = [
      commit.transaction(large(2)),
      commit.transaction(insert(3)),
      commit.transaction(function* () {
        try {
          yield* run(insertItem(4, `4${'x'.repeat(20_000)}`))
        } catch {
          // Not even a module that minds no errors returns success for what is not there.
        }
        return 'done'
      }),
      commit.transaction(() => run(sql`UPDATE item SET quantity = 7 WHERE id = 1`)),
    ]
    t.strictSame(await outcomes(promises), ['full', 3, 'full', 1])
    t.equal(full.length, 2)
    t.notOk(connection.inTransaction)
    const rows = () => connection.all(sql`SELECT id, quantity FROM item ORDER BY id`)
    t.strictSame(rows(), [
      { id: 1, quantity: 7 },
      { id: 3, quantity: 1 },
    ])
    limit(1_000_000)
    t.equal(await commit.transaction(large(2)), 2)
    t.strictSame(
      rows().map((row) => (row as { id: number }).id),
      [1, 2, 3],
    )
  },
)

t.test('a COMMIT on a full disk fails its group and breaks nothing', async (t) => {
  const { commit, connection, broken, ids } = group(t)
  await commit.transaction(insert(1))
  connection.failure = new DatabaseError('full', 'database or disk is full')
  t.strictSame(await outcomes([2, 3].map((id) => commit.transaction(insert(id)))), ['full', 'full'])
  connection.failure = undefined
  t.equal(await commit.transaction(insert(2)), 2)
  t.strictSame(ids(), [1, 2])
  t.strictSame(broken, [])
})

t.test('exclusive work is done between two groups; transactions wait for it, and go on', async (t) => {
  const { commit, connection, ids } = group(t)
  const { promise, resolve } = Promise.withResolvers<void>()
  const begun = Promise.withResolvers<void>()
  const work = commit.exclusive(async () => {
    t.notOk(connection.inTransaction)
    begun.resolve()
    await promise
    t.strictSame(ids(), [], 'nothing was written meanwhile')
    return 'done'
  })
  const written = commit.transaction(insert(1))
  await begun.promise
  const later = commit.transaction(insert(2))
  await nextTurn()
  resolve()
  t.equal(await work, 'done')
  t.strictSame(await Promise.all([written, later]), [1, 2])
  await t.rejects(
    commit.exclusive(async () => {
      throw new Error('mine')
    }),
    { message: 'mine' },
  )
  await commit.transaction(insert(3))
  t.strictSame(ids(), [1, 2, 3])
})

t.test('a transaction that waits too long for exclusive work is busy, and is not run later', async (t) => {
  const { connection } = group(t)
  const commit = new GroupCommit(connection, noReads, { onBroken: t.fail, rehearse: false, patience: 10 })
  const { promise, resolve } = Promise.withResolvers<void>()
  const work = commit.exclusive(() => promise)
  await t.rejects(commit.transaction(insert(1)), { name: 'DatabaseError', kind: 'busy' })
  resolve()
  await work
  await commit.transaction(insert(2))
  t.strictSame(connection.all(sql`SELECT id FROM item`), [{ id: 2 }])
})

t.test(
  'transactions behind exclusive work run before the close, and reject if the storage is broken',
  async (t) => {
    const { commit, ids } = group(t)
    const { promise, resolve } = Promise.withResolvers<void>()
    const work = commit.exclusive(() => promise)
    const written = commit.transaction(insert(1))
    const ended = commit.end(new Error('closed'))
    await t.rejects(
      commit.exclusive(async () => {}),
      { message: 'closed' },
    )
    resolve()
    await Promise.all([work, written, ended])
    t.strictSame(ids(), [1])

    const other = group(t)
    const first = other.commit.exclusive(nextTurn)
    const second = other.commit.exclusive(nextTurn)
    const late = other.commit.transaction(insert(1))
    await nextTurn()
    other.commit.abort(new BrokenStorageError('broken'))
    t.strictSame(await outcomes([first, second, late]), [undefined, 'unavailable', 'unavailable'])
  },
)
