import { maybeOne, one, PagedList, type Row, run, sql } from '@mortise/module-sdk'
import type { MyThing } from './schemas.ts'

/** Each statement names the owner, so an id alone gives no access. */

export type MyThingRow = Row<MyThing>

const columns = sql`id, text, created_at AS "createdAt"`

export const myThings = new PagedList<MyThingRow>('my_thing', { columns })

export const findMyThing = (owner: string, id: string) =>
  maybeOne<MyThingRow>(sql`SELECT ${columns} FROM my_thing WHERE id = ${id} AND owner = ${owner}`)

export const countMyThings = (owner: string) =>
  one<{ count: number }>(sql`SELECT count(*) AS count FROM my_thing WHERE owner = ${owner}`)

export const insertMyThing = (owner: string, { id, text, createdAt }: MyThingRow) =>
  run(sql`INSERT INTO my_thing (id, owner, text, created_at) VALUES (${id}, ${owner}, ${text}, ${createdAt})`)

/** Returns the number of deleted rows: 0 or 1. */
export const deleteMyThing = (owner: string, id: string) =>
  run(sql`DELETE FROM my_thing WHERE id = ${id} AND owner = ${owner}`)

export const moveMyThings = (from: string, to: string) =>
  run(sql`UPDATE my_thing SET owner = ${to} WHERE owner = ${from}`)
