import { isMigrated, OperatorRecord } from '@mortise/application'
import { run, type Transaction } from '@mortise/module-sdk'
import { Type } from '@sinclair/typebox'
import { insertion } from '../../events/audit-trail.ts'
import * as events from '../../events/failed-event-queries.ts'
import * as failedJobs from '../../events/job-queries.ts'
import { databaseOperation } from '../operation.ts'

/** What handlers or works are doing, with a limited number of failures; `none` without tables. */
const overview = <State>(read: (limit: number) => Transaction<State>, none: State) =>
  databaseOperation({
    changesNothing: true,
    input: Type.Object({ limit: Type.Integer() }),
    async run({ storage }, { limit }) {
      if (!isMigrated(await storage.applied())) return none
      return await storage.snapshot(() => read(limit), { long: true })
    },
    withoutDatabase: async () => none as NoInfer<State>,
  })

export const failedEvents = overview(events.readFailedEvents, {
  subscriptions: [],
  failed: [],
})

export const jobs = overview(failedJobs.readJobs, { works: [], failed: [] })

const module = Type.Optional(Type.String())

/** Makes failed events due: all, those of one event, or those of one module. */
export const replay = databaseOperation({
  input: Type.Object({ event: Type.Optional(Type.String()), module }),
  migrates: true,
  run: async ({ storage }, choice) => ({
    failedEvents: await storage.transaction(() => events.replay(choice)),
  }),
})

/** Makes failed jobs due: all, one, or those of one module. */
export const replayJobs = databaseOperation({
  input: Type.Object({ job: Type.Optional(Type.String()), module }),
  migrates: true,
  run: async ({ storage }, choice) => ({
    jobs: await storage.transaction(() => failedJobs.replayJobs(choice)),
  }),
})

/** Discards an event's dead letters and retries, and records that. */
export const discard = databaseOperation({
  input: Type.Object({ event: Type.String(), module, record: OperatorRecord }),
  migrates: true,
  async run({ storage }, { record, ...choice }) {
    return await storage.transaction(function* () {
      const failedEvents = yield* events.discard(choice)
      const [first] = failedEvents
      if (first !== undefined) {
        const { type, subject } = first
        const modules = failedEvents.map(({ module }) => module)
        yield* run(insertion({ ...record, details: { ...record.details, modules, type, subject } }))
      }
      return { failedEvents }
    })
  },
})

/** Discards a failed job, and records that. */
export const discardJob = databaseOperation({
  input: Type.Object({ job: Type.String(), module, record: OperatorRecord }),
  migrates: true,
  async run({ storage }, { record, ...choice }) {
    return await storage.transaction(function* () {
      const jobs = yield* failedJobs.discardJob(choice)
      for (const { module, work } of jobs) {
        yield* run(insertion({ ...record, details: { ...record.details, module, work } }))
      }
      return { jobs }
    })
  },
})
