import { setTimeout } from 'node:timers/promises'
import {
  DatabaseError,
  type Job,
  many,
  one,
  run,
  type Statement,
  type Step,
  sql,
  type WorkOptions,
} from '@mortise/module-sdk'
import type { Storage } from '@mortise/storage'
import { type Test, test } from 'tap'
import { nextTime } from '../../src/events/cron.ts'
import { handlerTimes } from '../../src/events/handler-times.ts'
import { deleteJobs, discardJob, readJobs, replayJobs } from '../../src/events/job-queries.ts'
import { WorkLoop } from '../../src/events/work-loop.ts'
import { hostMigrations } from '../../src/modules/migration-sets.ts'
import { createLogger } from '../../src/telemetry/logger.ts'
import { type Open, testOnEngines, testOnPostgres } from '../engines.ts'

const log = createLogger({ level: 'silent', requests: false, slowMs: 1_000 })
const retries = [0, 0]

async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await condition())) await setTimeout(1)
}

/** One host that does the work "mail" of the module "mailer". */
function host(
  t: Test,
  storage: Storage,
  perform: (job: Job) => Promise<void>,
  options: WorkOptions & {
    holder?: string
    term?: number
    retries?: readonly number[]
    patience?: number
  } = {},
) {
  const { holder = 'one', term = 10_000, patience = 1, retries: pauses = retries, ...rest } = options
  const times = { ...handlerTimes, term, pause: 1, retries: pauses }
  const loop = new WorkLoop({
    module: 'mailer',
    name: 'mail',
    options: rest,
    perform,
    storage,
    log,
    holder,
    times,
    patience,
  })
  t.teardown(() => loop.stop())
  return { loop, add: (data: unknown, at?: number) => loop.handle.add(data, at === undefined ? {} : { at }) }
}

const jobsOf = async (storage: Storage) => (await storage.snapshot(() => readJobs(100))).failed
const worksOf = async (storage: Storage) => (await storage.snapshot(() => readJobs(100))).works

async function migrated(open: Open): Promise<Storage> {
  const storage = await open('')
  await storage.migrate([hostMigrations])
  return storage
}

testOnEngines('a job is done once if its transaction commits, and never if not', async (t, open) => {
  const storage = await migrated(open)
  const done: Job[] = []
  const { loop, add } = host(t, storage, async (job) => void done.push(job))
  loop.begin()
  await t.rejects(
    storage.transaction(function* () {
      yield* add({ to: 'nobody' })
      throw new Error('undone')
    }),
  )
  const id = await storage.transaction(() => add({ to: 'ann' }))
  await loop.idle()
  t.strictSame(
    done.map((job) => [job.id, job.data, job.attempt]),
    [[id, { to: 'ann' }, 1]],
  )
  t.strictSame(await worksOf(storage), [])
})

testOnEngines('a failed job is tried again, then waits for the operator', async (t, open) => {
  const storage = await migrated(open)
  const attempts: number[] = []
  let isBroken = true
  const { loop, add } = host(t, storage, async ({ attempt }) => {
    attempts.push(attempt)
    if (isBroken) throw new Error('no route to host')
  })
  loop.begin()
  const id = await storage.transaction(() => add(null))
  await until(async () => (await jobsOf(storage))[0]?.state === 'failed')
  t.strictSame(attempts, [1, 2, 3])
  t.match(await jobsOf(storage), [
    { id, module: 'mailer', work: 'mail', error: 'Error: no route to host', nextAttemptAt: null },
  ])

  isBroken = false
  t.strictSame(await storage.transaction(() => replayJobs({ module: 'other' })), [])
  t.strictSame(await storage.transaction(() => replayJobs({ job: id })), [
    { id, module: 'mailer', work: 'mail' },
  ])
  await until(async () => (await worksOf(storage)).length === 0)
  t.strictSame(attempts, [1, 2, 3, 1])
})

testOnEngines('a failed job can be discarded, and those of a module deleted', async (t, open) => {
  const storage = await migrated(open)
  const { loop, add } = host(t, storage, () => Promise.reject(new Error('no')), { retries: [] })
  loop.begin()
  const id = await storage.transaction(() => add(1))
  await until(async () => (await jobsOf(storage))[0]?.state === 'failed')
  t.equal((await storage.transaction(() => discardJob({ job: 'another' }))).length, 0)
  t.equal((await storage.transaction(() => discardJob({ job: id }))).length, 1)
  await storage.transaction(() => add(2, Date.now() + 60_000))
  await storage.transaction(() => deleteJobs('mailer'))
  t.strictSame(await worksOf(storage), [])
})

testOnEngines('an attempt that takes too long fails, and its signal is aborted', async (t, open) => {
  const storage = await migrated(open)
  const { loop, add } = host(t, storage, ({ signal }) => setTimeout(60_000, undefined, { signal }), {
    retries: [],
    timeout: 5,
  })
  loop.begin()
  await storage.transaction(() => add(1))
  await until(async () => (await jobsOf(storage))[0]?.state === 'failed')
  t.match(await jobsOf(storage), [{ error: 'Error: it took longer than 5 ms' }])
})

testOnEngines('at most so many jobs at a time, each by one of two hosts', async (t, open) => {
  const storage = await migrated(open)
  const done: string[] = []
  const running = { one: 0, two: 0 }
  let most = 0
  const perform = (holder: 'one' | 'two') => async (job: Job) => {
    running[holder] += 1
    most = Math.max(most, running[holder])
    await setTimeout(1)
    running[holder] -= 1
    done.push(job.id)
  }
  const one = host(t, storage, perform('one'), { concurrency: 2 })
  const two = host(t, storage, perform('two'), { concurrency: 2, holder: 'two' })
  const ids: string[] = []
  for (let index = 0; index < 60; index++) ids.push(await storage.transaction(() => one.add(index)))
  one.loop.begin()
  // On SQLite there is one host: the second is the next generation of the same process.
  if (storage.engine === 'postgres') two.loop.begin()
  await until(() => done.length >= ids.length)
  await Promise.all([one.loop.idle(), ...(storage.engine === 'postgres' ? [two.loop.idle()] : [])])
  t.strictSame(done.toSorted(), ids.toSorted())
  t.equal(most, 2)
})

testOnEngines(
  'what waits for a job learns in one transaction that it has failed for good',
  async (t, open) => {
    const storage = await migrated(open)
    await storage.transaction(() => run(sql`CREATE TABLE mail (job TEXT NOT NULL, error TEXT NOT NULL)`))
    const mails = () => storage.snapshot(() => many<object>(sql`SELECT job, error FROM mail`))
    let attempts = 0
    const perform = () => Promise.reject(new Error(`no ${++attempts}`))
    const { loop, add } = host(t, storage, perform, {
      onFailed: ({ id, data, error }) =>
        run(sql`INSERT INTO mail (job, error) VALUES (${`${id} ${data}`}, ${error})`),
    })
    const id = await storage.transaction(() => add('ann'))
    loop.begin()
    await until(async () => (await jobsOf(storage))[0]?.state === 'failed')
    t.equal(attempts, 3)
    t.strictSame(await mails(), [{ job: `${id} ann`, error: 'Error: no 3' }], 'after the last attempt only')
  },
)

testOnEngines('steps that fail do not keep a job from failing', async (t, open) => {
  const storage = await migrated(open)
  const perform = () => Promise.reject(new Error('no'))
  const { loop, add } = host(t, storage, perform, {
    onFailed: () => run(sql`INSERT INTO nowhere (job) VALUES (1)`),
  })
  await storage.transaction(() => add('ann'))
  loop.begin()
  await until(async () => (await jobsOf(storage))[0]?.state === 'failed')
})

testOnEngines('a job whose process dies in each attempt fails for good', async (t, open) => {
  const storage = await migrated(open)
  let begun = 0
  const { loop, add } = host(t, storage, async () => {
    begun += 1
  })
  const id = await storage.transaction(() => add('ann'))
  // As three processes left it that died.
  await storage.transaction(() => run(sql`UPDATE mortise_job SET attempts = 3 WHERE id = ${id}`))
  loop.begin()
  await until(async () => (await jobsOf(storage))[0]?.state === 'failed')
  t.match(await jobsOf(storage), [{ id, error: /the process died/ }])
  t.equal(begun, 0)
})

testOnEngines('a module that stops leaves its jobs to the next generation', async (t, open) => {
  const storage = await migrated(open)
  let begun = 0
  const first = host(t, storage, ({ signal }) => {
    begun += 1
    return setTimeout(60_000, undefined, { signal })
  })
  first.loop.begin()
  await storage.transaction(() => first.add('import'))
  await until(() => begun === 1)
  await first.loop.stop()
  const attempts: number[] = []
  const next = host(t, storage, async ({ attempt }) => void attempts.push(attempt))
  next.loop.begin()
  await until(() => attempts.length > 0)
  await next.loop.idle()
  t.strictSame(attempts, [1], 'the aborted attempt does not count')
  t.strictSame(await worksOf(storage), [])
})

testOnEngines('the jobs of a process that died are done by another', async (t, open, engine) => {
  const storage = await migrated(open)
  const attempts: number[] = []
  const next = host(t, storage, async ({ attempt }) => void attempts.push(attempt))
  await storage.transaction(() => next.add('mail'))
  // The only host of a SQLite file need not wait for the lease to expire.
  const heldUntil = engine === 'sqlite' ? Date.now() + 5_000 : 0
  await storage.transaction(() =>
    run(sql`
      UPDATE mortise_job
      SET state = 'running', holder = 'dead', lease = 'lease', held_until = ${heldUntil}, attempts = 1`),
  )
  next.loop.begin()
  await until(() => attempts.length > 0)
  await next.loop.idle()
  t.strictSame(attempts, [2])
  t.strictSame(await worksOf(storage), [])
})

testOnEngines('a process that stood still leaves its job to the one that took it over', async (t, open) => {
  const storage = await migrated(open)
  let aborted: unknown
  const slow = host(
    t,
    storage,
    ({ signal }) =>
      new Promise((_, reject) => {
        signal.addEventListener('abort', () => {
          aborted = signal.reason
          reject(signal.reason)
        })
      }),
    { term: 3_000 },
  )
  slow.loop.begin()
  await storage.transaction(() => slow.add('mail'))
  await until(async () => (await worksOf(storage))[0]?.running === 1)
  await storage.transaction(() =>
    run(sql`
      UPDATE mortise_job SET holder = 'other', lease = 'other', held_until = ${Date.now() + 3_000}`),
  )
  await until(() => aborted !== undefined)
  t.match(aborted, { message: 'another host has taken this job over' })
  await slow.loop.stop()
  t.match(await worksOf(storage), [{ running: 1, failed: 0 }])
})

test('an attempt is aborted when the database has been unreachable for the lease', async (t) => {
  for (const isShared of [true, false]) {
    const state = { now: 0, dueIn: 0, hasLost: false }
    const outcomes: unknown[] = []
    let isReachable = true
    let isLeased = false
    const storage = {
      isShared,
      one: async () => (isLeased ? { ...state, dueIn: null } : state),
      async transaction(steps: () => unknown) {
        if (!isReachable) throw new DatabaseError('unavailable', 'no route to the database')
        const [{ value }] = [(steps() as Generator<Step>).next()]
        const text = (value as Statement).query.strings.join('?')
        if (text.includes('SELECT id FROM mortise_job WHERE') && text.includes('due_at <=')) {
          isLeased = true
          return [{ id: 'job_1', lease: 'lease_1', data: '1', attempts: 1 }]
        }
        if (isLeased) outcomes.push(text)
        return []
      },
    } as unknown as Storage
    let signal: AbortSignal | undefined
    let end = () => {}
    const perform = (job: Job) => {
      signal = job.signal
      isReachable = false
      return new Promise<void>((resolve) => {
        end = resolve
      })
    }
    const { loop } = host(t, storage, perform, { term: 30 })
    loop.begin()
    if (isShared) {
      await until(() => signal?.aborted === true)
      t.match(signal?.reason, { message: /another host may take this job over/ })
    } else {
      await setTimeout(90)
      t.equal(signal?.aborted, false, 'where there is no other host')
      end()
    }
    isReachable = true
    await until(() => outcomes.length > 0)
    await loop.stop()
  }
})

testOnEngines('after the correction of a clock that was ahead, jobs continue at once', async (t, open) => {
  const AHEAD = 7_200_000
  const storage = await migrated(open)
  const done: unknown[] = []
  let fails = true
  const perform = async ({ data }: Job) => {
    if (fails) throw new Error('not yet')
    done.push(data)
  }
  const first = host(t, storage, perform, { retries: [60_000] })
  first.loop.begin()
  await storage.transaction(() => first.add('failed'))
  await until(async () => (await jobsOf(storage)).length === 1)
  await first.loop.stop()
  fails = false
  const at = Date.now() + AHEAD
  await storage.transaction(function* () {
    yield* first.add('new')
    // Written by a host whose clock was ahead.
    yield* run(sql`UPDATE mortise_job SET due_at = due_at + ${AHEAD}, created_at = created_at + ${AHEAD}`)
    yield* first.add('later', at)
  })
  const next = host(t, storage, perform, { retries: [60_000], holder: 'two' })
  next.loop.begin()
  await until(() => done.length === 2)
  await next.loop.idle()
  t.strictSame(done.toSorted(), ['failed', 'new'])
  t.match(await worksOf(storage), [{ waiting: 1 }], 'what the module has put off itself waits')
})

testOnEngines('a schedule has one job, which stays', async (t, open) => {
  const storage = await migrated(open)
  const done: Job[] = []
  const first = host(t, storage, async (job) => void done.push(job), { schedule: '0 3 * * *' })
  first.loop.begin()
  await until(async () => (await worksOf(storage)).length > 0)
  const due = () => storage.one<{ due: number }>(sql`SELECT due_at AS due FROM mortise_job`)
  t.equal((await due()).due, nextTime('0 3 * * *', Date.now()))
  await storage.transaction(() => run(sql`UPDATE mortise_job SET due_at = 0`))
  await until(() => done.length === 1)
  await first.loop.idle()
  t.equal((await due()).due, nextTime('0 3 * * *', Date.now()), 'what was missed is done once')
  await first.loop.stop()
  t.match(done[0]?.id, /^job_[0-9a-z]{26}$/)

  const changed = host(t, storage, async () => {}, { schedule: '30 4 * * *' })
  changed.loop.begin()
  await until(async () => (await due()).due === nextTime('30 4 * * *', Date.now()))
  await changed.loop.stop()
  const without = host(t, storage, async () => {})
  without.loop.begin()
  await until(async () => (await worksOf(storage)).length === 0)
  t.equal(
    (await storage.transaction(() => one<{ n: number }>(sql`SELECT count(*) AS n FROM mortise_job`))).n,
    0,
  )
})

testOnEngines(
  'each run of a schedule has an id, the same in its retries and on every host',
  async (t, open) => {
    const storage = await migrated(open)
    const attempts: [string, string, number][] = []
    let fails = true
    const options = { schedule: '0 3 * * *', retries: [0] }
    const due = () => storage.transaction(() => run(sql`UPDATE mortise_job SET due_at = 0`))
    const began = async (holder: string) => {
      const next = host(
        t,
        storage,
        async ({ id, attempt }) => {
          attempts.push([holder, id, attempt])
          if (fails) throw new Error('not now')
        },
        { ...options, holder },
      )
      next.loop.begin()
      await until(async () => (await worksOf(storage)).length > 0)
      return next.loop
    }
    const one = await began('one')
    await due()
    await until(() => attempts.length === 2)
    await until(async () => (await jobsOf(storage))[0]?.attempts === 0)
    t.equal(attempts[0]?.[1], attempts[1]?.[1], 'a retry has the id of its run')
    const [listed] = await jobsOf(storage)
    t.not(listed?.id, attempts[0]?.[1], 'after the last attempt the next run is another job')

    await due()
    await until(() => attempts.length === 4)
    await one.stop()
    t.equal(attempts[2]?.[1], listed?.id)
    const lost = await storage.one<{ id: string }>(sql`SELECT id FROM mortise_job`)
    // A host died in the next run.
    await storage.transaction(() =>
      run(sql`
      UPDATE mortise_job
      SET state = 'running', holder = 'dead', lease = 'lease', held_until = 0, attempts = 1`),
    )
    fails = false
    const two = await began('two')
    await until(() => attempts.length === 5)
    await two.idle()
    t.strictSame(attempts[4], ['two', lost.id, 2], 'another host does the same run')
    await due()
    await until(() => attempts.length === 6)
    await two.idle()
    t.equal(new Set(attempts.map(([, id]) => id)).size, 4, 'one id for each of four runs')
    await two.stop()
  },
)

testOnEngines(
  'the id that all runs had before is replaced, and doubled jobs are removed',
  async (t, open) => {
    const storage = await migrated(open)
    const insert = (id: string) =>
      storage.transaction(() =>
        run(sql`
        INSERT INTO mortise_job (id, module, work, data, schedule, state, due_at, attempts, created_at)
        VALUES (${id}, 'mailer', 'mail', 'null', '0 3 * * *', 'waiting', 1, 0, 1)`),
      )
    await insert('job_mailer/mail')
    const done: string[] = []
    const perform = async ({ id }: Job) => void done.push(id)
    const first = host(t, storage, perform, { schedule: '0 3 * * *' })
    first.loop.begin()
    await until(() => done.length === 1)
    await first.loop.idle()
    t.match(done[0], /^job_[0-9a-z]{26}$/)
    await first.loop.stop()
    await insert('job_mailer/mail')
    const next = host(t, storage, perform, { schedule: '0 3 * * *' })
    next.loop.begin()
    await until(async () => (await worksOf(storage))[0]?.waiting === 1)
    await next.loop.idle()
    t.match(await worksOf(storage), [{ waiting: 1, running: 0 }])
    await next.loop.stop()
  },
)

testOnPostgres('two hosts that begin at once keep one job of a schedule', async (t, open) => {
  const one = await migrated(open)
  const loops = [one, await open('')].map((storage, index) => {
    const holder = `host ${index}`
    return host(t, storage, async () => {}, { schedule: '0 3 * * *', holder }).loop
  })
  for (const loop of loops) loop.begin()
  await Promise.all(loops.map((loop) => loop.idle()))
  t.match(await worksOf(one), [{ waiting: 1 }])
})

test('data that cannot be stored, and a schedule that is wrong, are refused', async (t) => {
  const options = { module: 'm', name: 'w', perform: async () => {}, storage: {} as Storage, log }
  const { handle } = new WorkLoop({ ...options, options: {} })
  t.throws(() => handle.add(undefined).next(), /no JSON/)
  t.throws(() => handle.add('x'.repeat(300_000)).next(), /exceed 262144 bytes/)
  t.throws(() => new WorkLoop({ ...options, options: { schedule: 'at night' } }), /at night/)
  t.throws(() => new WorkLoop({ ...options, options: { schedule: '0 0 30 2 *' } }), /never due/)
})
