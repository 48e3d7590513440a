import { defineModule, one, sql } from '@mortise/module-sdk'

export default defineModule('tally', async (_app, { contracts }) => {
  contracts.provide('tally', {
    /** Counts one more of `name`, in the transaction of whoever calls. */
    *add(name) {
      const { count } = yield* one(sql`
        INSERT INTO tally (name, count) VALUES (${name}, 1)
        ON CONFLICT (name) DO UPDATE SET count = tally.count + 1
        RETURNING count`)
      return count
    },
  })
})
