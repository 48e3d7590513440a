import { defineModule, one, PagedList, PageOf, pageQuery, Strict, sql } from '@mortise/module-sdk'
import { Type } from '@sinclair/typebox'

const Count = Type.Object({ name: Type.String(), count: Type.Integer() }, { title: 'Count' })

const counts = new PagedList('tally', { columns: sql`name, count`, position: 'name', ascending: true })

export default defineModule('tally').plugin(async (app, { contracts, database }) => {
  contracts.provide('tally', '1.0.0', {
    /** Counts one more of `name`, in the caller's transaction. */
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
    async ({ query }, reply) =>
      reply.paged(await database.snapshot(() => counts.page(query, {}, (count) => count))),
  )
})
