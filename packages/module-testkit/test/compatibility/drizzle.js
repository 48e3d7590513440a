import { defineModule, List, many, sql } from '@mortise/module-sdk'
import { Type } from '@sinclair/typebox'
import { eq } from 'drizzle-orm'
import { integer, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import { drizzle } from 'drizzle-orm/sqlite-proxy'

const config = { access: 'public' }
const Tea = Type.Object({ name: Type.String(), cups: Type.Integer() })
const schema = { response: { 200: List(Tea) } }
const tea = sqliteTable('tea', { name: text('name').notNull(), cups: integer('cups').notNull() })

/** Writes queries and never runs one: the host does. */
const db = drizzle(() => {
  throw new Error('pass the query to rowsOf')
})

/** The step that reads the rows of a query. */
function rowsOf(query) {
  const { sql: written, params } = query.toSQL()
  const texts = written.split('?')
  return many(sql(Object.assign(texts, { raw: texts }), ...params))
}

export default defineModule('tea').plugin(async (app, { database }) => {
  app.get('/tea', { config, schema }, async () => ({
    data: await database.snapshot(() => rowsOf(db.select().from(tea).where(eq(tea.name, 'green')))),
  }))
})
