import { defineModule, List } from '@mortise/module-sdk'
import { Type } from '@sinclair/typebox'
import { db, rowsOf } from '../../../../docs/examples/kysely/queries.js'

const config = { access: 'public' }
const Tea = Type.Object({ name: Type.String(), cups: Type.Integer() })
const schema = { response: { 200: List(Tea) } }

export default defineModule('tea').plugin(async (app, { database }) => {
  app.get('/tea', { config, schema }, async () => ({
    data: await database.snapshot(() =>
      rowsOf(db.selectFrom('tea').select(['name', 'cups']).where('name', '=', 'green')),
    ),
  }))
})
