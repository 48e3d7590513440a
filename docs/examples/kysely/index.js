import { defineModule, Id, List, newId, respond, Strict } from '@mortise/module-sdk'
import { Type } from '@sinclair/typebox'
import { change, db, rowsOf } from './queries.js'

const product = Type.String({ minLength: 1, maxLength: 200 })
const stars = Type.Integer({ minimum: 1, maximum: 5 })
const NewReview = Strict({ product, stars }, { title: 'NewReview' })
const Review = Type.Object({ id: Id('review'), product, stars }, { title: 'Review' })
const Filter = Strict({ product: Type.Optional(product), minStars: Type.Optional(stars) })

export default defineModule('review').plugin(async (app, { database, onClaim }) => {
  const config = /** @type {const} */ ({ access: 'caller' })

  app.get(
    '/review',
    {
      config,
      schema: {
        summary: 'The best reviews of the caller',
        querystring: Filter,
        response: { 200: List(Review) },
      },
    },
    async ({ caller, query: { product, minStars } }) => {
      const reviews = db
        .selectFrom('review')
        .select(['id', 'product', 'stars'])
        .where('owner', '=', caller.id)
        .$if(product !== undefined, (query) => query.where('product', '=', String(product)))
        .$if(minStars !== undefined, (query) => query.where('stars', '>=', Number(minStars)))
        .orderBy('stars', 'desc')
        .orderBy('id', 'desc')
        .limit(100)
      return { data: await database.snapshot(() => rowsOf(reviews)) }
    },
  )

  app.post(
    '/review',
    { config, schema: { summary: 'Review a product', body: NewReview, response: { 201: Review } } },
    (request) =>
      request.transaction(function* () {
        const review = { id: newId('review'), ...request.body }
        yield* change(db.insertInto('review').values({ ...review, owner: request.caller.id }))
        return respond(201, review)
      }),
  )

  onClaim(function* ({ guest, user }) {
    yield* change(db.updateTable('review').set({ owner: user }).where('owner', '=', guest))
  })
})
