import { defineModule, List, run, sql } from '@mortise/module-sdk'
import { Type } from '@sinclair/typebox'

const Sold = Type.Object({ product: Type.String(), quantity: Type.Integer() })

export default defineModule('sold').plugin(async (app, { database, on }) => {
  on('purchase.created', function* ({ data }) {
    for (const { product, quantity } of data.items) {
      yield* run(sql`
        INSERT INTO sold (product, quantity) VALUES (${product}, ${quantity})
        ON CONFLICT (product) DO UPDATE SET quantity = sold.quantity + excluded.quantity`)
    }
  })

  app.get(
    '/sold',
    {
      config: { access: 'public' },
      schema: { summary: 'What has sold best', response: { 200: List(Sold) } },
    },
    async () => ({
      data: await database.many(sql`SELECT product, quantity FROM sold ORDER BY quantity DESC LIMIT 10`),
    }),
  )
})
