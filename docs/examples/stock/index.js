import { open } from 'node:fs/promises'
import { defineModule, maybeOne, respond, run, Strict, sql } from '@mortise/module-sdk'
import { Type } from '@sinclair/typebox'

const BATCH = 500
const settings = Strict({ file: Type.String({ description: 'a CSV file: product,quantity' }) })
const Empty = Strict({}, { title: 'NewImport' })
const Import = Type.Object({ id: Type.String() }, { title: 'Import' })
const Stock = Type.Object({ product: Type.String(), quantity: Type.Integer() }, { title: 'Stock' })

export default defineModule('stock', { settings }).plugin(async (app, { database, settings, work }) => {
  const imports = work('import', { concurrency: 1, timeout: 600_000 }, async ({ id, signal }) => {
    const begun = await database.maybeOne(sql`SELECT lines FROM stock_import WHERE id = ${id}`)
    let number = 0
    let batch = []
    const file = await open(settings.file)
    for await (const line of file.readLines({ signal })) {
      number += 1
      if (number <= (begun?.lines ?? 0)) continue
      batch.push(line)
      if (batch.length < BATCH) continue
      await store(id, batch, number)
      batch = []
    }
    await store(id, batch, number)
  })

  /** One transaction for the lines and the position, so an import that begins again continues here. */
  const store = (id, lines, number) =>
    database.transaction(function* () {
      for (const line of lines) {
        const [product, quantity] = line.split(',')
        yield* run(sql`
          INSERT INTO stock (product, quantity) VALUES (${product}, ${Number(quantity)})
          ON CONFLICT (product) DO UPDATE SET quantity = stock.quantity + excluded.quantity`)
      }
      yield* run(sql`
        INSERT INTO stock_import (id, lines) VALUES (${id}, ${number})
        ON CONFLICT (id) DO UPDATE SET lines = excluded.lines`)
    })

  app.post(
    '/stock/import',
    {
      config: { access: 'admin' },
      schema: { summary: 'Import the file', body: Empty, response: { 202: Import } },
    },
    (request) =>
      request.transaction(function* () {
        return respond(202, { id: yield* imports.add({}) })
      }),
  )

  app.get(
    '/stock/:product',
    {
      config: { access: 'public' },
      schema: {
        summary: 'The quantity of a product',
        params: Type.Object({ product: Type.String() }),
        response: { 200: Stock },
      },
    },
    ({ params: { product } }) =>
      database.snapshot(function* () {
        const row = yield* maybeOne(sql`SELECT product, quantity FROM stock WHERE product = ${product}`)
        return row ?? { product, quantity: 0 }
      }),
  )
})
