import { run } from '@mortise/module-sdk'
import { Type } from '@sinclair/typebox'
import { insertion, OperatorRecord } from '../../events/audit-trail.ts'
import { discard as discardFailed } from '../../events/failed-event-queries.ts'
import { databaseOperation } from '../operation.ts'

/** Discards an event's dead letters and retries, and records that. */
export const discard = databaseOperation({
  input: Type.Object({
    event: Type.String(),
    module: Type.Optional(Type.String()),
    record: OperatorRecord,
  }),
  migrates: true,
  async run({ storage }, { record, ...choice }) {
    return await storage.transaction(function* () {
      const reactions = yield* discardFailed(choice)
      const [first] = reactions
      if (first !== undefined) {
        const { type, subject } = first
        const modules = reactions.map(({ module }) => module)
        yield* run(insertion({ ...record, details: { ...record.details, modules, type, subject } }))
      }
      return { reactions }
    })
  },
})
