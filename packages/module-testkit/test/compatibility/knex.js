import { defineModule, List, many, sql } from '@mortise/module-sdk'
import { Type } from '@sinclair/typebox'
import knex from 'knex'

const config = { access: 'public' }
const Tea = Type.Object({ name: Type.String(), cups: Type.Integer() })
const schema = { response: { 200: List(Tea) } }

/** Writes queries and never runs one: the host does. */
const db = knex({ client: 'pg' })

/** The step that reads the rows of a query. */
function rowsOf(query) {
  const { sql: written, bindings } = query.toSQL()
  const texts = written.split('?')
  return many(sql(Object.assign(texts, { raw: texts }), ...bindings))
}

export default defineModule('tea').plugin(async (app, { database }) => {
  app.get('/tea', { config, schema }, async () => ({
    data: await database.snapshot(() => rowsOf(db('tea').select('name', 'cups').where('name', 'green'))),
  }))
})
