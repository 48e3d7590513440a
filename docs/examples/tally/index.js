import { defineModule, many, one, PageOf, pageQuery, Strict, sql } from '@mortise/module-sdk'
import { Type } from '@sinclair/typebox'

const Count = Type.Object({ name: Type.String(), count: Type.Integer() }, { title: 'Count' })

export default defineModule('tally').plugin(async (app, { contracts, database }) => {
  contracts.provide('tally', '1.0.0', {
    /** Counts one more of `name`, in the transaction of whoever calls. */
    *add(name) {
      const { count } = yield* one(sql`
        INSERT INTO tally (name, count) VALUES (${name}, 1)
        ON CONFLICT (name) DO UPDATE SET count = tally.count + 1
        RETURNING count`)
      return count
    },
  })

  app.get(
    '/tally',
    {
      config: { access: 'public' },
      schema: {
        summary: 'What was counted, by name',
        querystring: Strict({ ...pageQuery }),
        response: { 200: PageOf(Count) },
      },
    },
    async (request, reply) => {
      const { page, rpp } = request.query
      const { data, total } = await database.snapshot(function* () {
        const { total } = yield* one(sql`SELECT count(*) AS total FROM tally`)
        const data = yield* many(sql`
          SELECT name, count FROM tally ORDER BY name LIMIT ${rpp} OFFSET ${(page - 1) * rpp}`)
        return { data, total }
      })
      return reply.paged({ data, page, rpp, total })
    },
  )
})
