import { maybeOne, one, PagedList, run, sql } from '@mortise/module-sdk'

/** Each statement names the owner, so an id alone gives no access. */

const columns = sql`id, text, created_at AS "createdAt"`

export const myThings = new PagedList('my_thing', { columns })

export const findMyThing = (owner, id) =>
  maybeOne(sql`SELECT ${columns} FROM my_thing WHERE id = ${id} AND owner = ${owner}`)

export const countMyThings = (owner) =>
  one(sql`SELECT count(*) AS count FROM my_thing WHERE owner = ${owner}`)

export const insertMyThing = (owner, { id, text, createdAt }) =>
  run(sql`INSERT INTO my_thing (id, owner, text, created_at) VALUES (${id}, ${owner}, ${text}, ${createdAt})`)

/** Returns the number of deleted rows: 0 or 1. */
export const deleteMyThing = (owner, id) =>
  run(sql`DELETE FROM my_thing WHERE id = ${id} AND owner = ${owner}`)

export const moveMyThings = (from, to) => run(sql`UPDATE my_thing SET owner = ${to} WHERE owner = ${from}`)
