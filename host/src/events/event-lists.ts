import {
  byEngine,
  type Database,
  type Event,
  type EventQuery,
  join,
  many,
  maybeOne,
  one,
  run,
  type Sql,
  send,
  sql,
  type Transaction,
} from '@mortise/module-sdk'

/**
 * The lists of events, so that a page by type or subject costs the same wherever it begins, and
 * however many events there are. `mortise_event_list` has the positions of the events
 *
 * - of each type: ('', '', type),
 * - of each subject: (subject, '', type),
 * - of each large owner: ('', owner, type),
 * - of each large subject, by owner: (subject, owner, type).
 *
 * A small owner or subject has few events: a reader filters these one by one.
 *
 * No request pays for the lists. `extendLists` adds the events of a slice of positions, behind the
 * requests, and `mortise_event_listed` says how far it is. Readers search the later events
 * themselves.
 *
 * The invariant, in every snapshot: the lists have exactly the events up to `mortise_event_listed`.
 * So who deletes events calls `unlist` in the same transaction.
 */

/** An owner or subject with at most this many listed events is small, as in RankedGroups. */
const SMALL = 256
/** Events listed by one transaction, and so how many more a small owner or subject may have. */
const SLICE = 500
/**
 * Every how many events it is looked whether the owner or subject has become large. A prime, so
 * that events in turns do not always miss it.
 */
const LOOKED_AT = 17
/** Owners, and subjects, that become large in one transaction. */
const MARKED_AT_ONCE = 2
/** A longer subject or owner has no list: an entry of an index in PostgreSQL has 2,700 bytes. */
const LONGEST = 255
/** Types to look for in one statement. SQLite takes 500 at most. */
const TYPES_AT_ONCE = 100

const hasList = (name: string) => name.length <= LONGEST
const hasListIn = (column: Sql) => sql`${column} <> '' AND length(${column}) <= ${LONGEST}`

/** Finds an event that is on no list yet, if any. */
export const unlisted = sql`
  SELECT position FROM mortise_event WHERE position > (SELECT position FROM mortise_event_listed) LIMIT 1`

/** Lists the next events. Returns whether there may be more. */
export function* extendLists(): Transaction<boolean> {
  const listed = yield* maybeOne<{ position: number }>(
    byEngine({
      sqlite: sql`SELECT position FROM mortise_event_listed`,
      // Without a row another host is doing it.
      postgres: sql`SELECT position FROM mortise_event_listed FOR UPDATE SKIP LOCKED`,
    }),
  )
  if (listed === undefined) return false
  const { position } = listed
  const { last, count } = yield* one<{ last: number | null; count: number }>(sql`
    SELECT max(position) AS last, count(*) AS count FROM (
      SELECT position FROM mortise_event WHERE position > ${position} ORDER BY position LIMIT ${SLICE}) AS slice`)
  if (last === null) return false
  const slice = sql`(
    SELECT subject, owner, type, position FROM mortise_event
    WHERE position > ${position} AND position <= ${last}) AS slice`
  const sample = sql`(SELECT * FROM ${slice} WHERE position % ${LOOKED_AT} = 0) AS sample`
  const marked = (yield* markOwners(sample, position)) + (yield* markSubjects(sample))
  if (marked > 0) return true
  yield* run(sql`
    INSERT INTO mortise_event_list (subject, owner, type, position)
    SELECT '', '', type, position FROM ${slice}
    UNION ALL SELECT subject, '', type, position FROM ${slice} WHERE ${hasListIn(sql`subject`)}
    UNION ALL SELECT '', slice.owner, type, position FROM ${slice} CROSS JOIN mortise_event_large AS large
      WHERE large.subject = '' AND large.owner = slice.owner
    UNION ALL SELECT slice.subject, slice.owner, type, position FROM ${slice} CROSS JOIN mortise_event_large AS large
      WHERE large.subject = slice.subject AND large.owner = '' AND ${hasListIn(sql`slice.owner`)}`)
  yield* run(sql`UPDATE mortise_event_listed SET position = ${last}`)
  return count === SLICE
}

/** Makes lists for the large owners of some events, with their events up to a position. */
function* markOwners(events: Sql, position: number): Transaction<number> {
  const owners = yield* many<{ owner: string }>(sql`
    SELECT owner FROM (SELECT DISTINCT owner FROM ${events} WHERE ${hasListIn(sql`owner`)}) AS candidate
    WHERE NOT EXISTS (SELECT 1 FROM mortise_event_large AS large WHERE large.subject = '' AND large.owner = candidate.owner)
      AND (
        SELECT position FROM mortise_event AS event
        WHERE ${ownedUpTo(sql`event.owner`, sql`candidate.owner`, position)}
        ORDER BY event.owner, event.position LIMIT 1 OFFSET ${SMALL}) IS NOT NULL
    LIMIT ${MARKED_AT_ONCE}`)
  for (const { owner } of owners) {
    yield* run(sql`INSERT INTO mortise_event_large (subject, owner) VALUES ('', ${owner})`)
    yield* run(sql`
      INSERT INTO mortise_event_list (subject, owner, type, position)
      SELECT '', owner, type, position FROM mortise_event WHERE ${ownedUpTo(sql`owner`, owner, position)}`)
  }
  return owners.length
}

/** Rows are compared for PostgreSQL, which otherwise may search all events for a common owner. */
const ownedUpTo = (column: Sql, owner: Sql | string, position: number) =>
  byEngine({
    sqlite: sql`${column} = ${owner} AND position <= ${position}`,
    postgres: sql`(${column}, position) >= (${owner}, 0) AND (${column}, position) <= (${owner}, ${position})`,
  })

/** Makes lists by owner for the large subjects of some events. */
function* markSubjects(events: Sql): Transaction<number> {
  // PostgreSQL would otherwise search the whole list of a subject that is large already.
  const ofSubject = byEngine({
    sqlite: sql`event.subject = candidate.subject AND event.owner = ''`,
    postgres: sql`
      (event.subject, event.owner) >= (candidate.subject, '')
        AND (event.subject, event.owner) <= (candidate.subject, '')`,
  })
  const subjects = yield* many<{ subject: string }>(sql`
    SELECT subject FROM (SELECT DISTINCT subject FROM ${events}) AS candidate
    WHERE NOT EXISTS (
        SELECT 1 FROM mortise_event_large AS large WHERE large.subject = candidate.subject AND large.owner = '')
      AND (
        SELECT position FROM mortise_event_list AS event
        WHERE ${ofSubject} AND candidate.subject <> ''
        ORDER BY event.subject, event.owner, event.type, event.position LIMIT 1 OFFSET ${SMALL}) IS NOT NULL
    LIMIT ${MARKED_AT_ONCE}`)
  for (const { subject } of subjects) {
    yield* run(sql`INSERT INTO mortise_event_large (subject, owner) VALUES (${subject}, '')`)
    yield* run(sql`
      INSERT INTO mortise_event_list (subject, owner, type, position)
      SELECT subject, owner, type, position FROM mortise_event
      WHERE ${hasListIn(sql`owner`)} AND position IN (
        SELECT position FROM mortise_event_list WHERE subject = ${subject} AND owner = '')`)
  }
  return subjects.length
}

/** Takes events off their lists. */
export function* unlist(events: readonly Pick<Event, 'position' | 'type'>[]): Transaction<void> {
  // By name: without statistics PostgreSQL would search the list of all events of a type for each.
  for (const [type, ofType] of Map.groupBy(events, ({ type }) => type)) {
    yield* send(sql`
      DELETE FROM mortise_event_list
      WHERE subject = '' AND owner = '' AND type = ${type} AND position IN (${positionsOf(ofType)})`)
  }
  // One statement for each: SQLite does not use the key for a UNION.
  for (const names of [sql`subject, ''`, sql`'', owner`, sql`subject, owner`]) {
    yield* send(sql`
      DELETE FROM mortise_event_list WHERE (subject, owner, type, position) IN (
        SELECT ${names}, type, position FROM mortise_event WHERE position IN (${positionsOf(events)}))`)
  }
}

/** The positions of events, for IN. */
export const positionsOf = (events: readonly Pick<Event, 'position'>[]) =>
  join(events.map(({ position }) => sql`${position}`))

/** The lists that have all events of a query, up to a position. */
export interface Lists {
  readonly subject: string
  readonly owner: string
  readonly types: readonly string[]
  readonly upTo: number
}

/** Undefined if the events of the query are few, or have no lists. */
export async function findLists(
  database: Database,
  { types, owner = '', subject = '' }: EventQuery,
): Promise<Lists | undefined> {
  if (!hasList(subject) || (types === undefined && subject === '')) return undefined
  const [largeSubject, largeOwner] = subject === '' ? ['', owner] : [subject, '']
  const { position, large } = await database.one<{ position: number; large: number }>(sql`
    SELECT position, (
      SELECT count(*) FROM mortise_event_large WHERE subject = ${largeSubject} AND owner = ${largeOwner}) AS large
    FROM mortise_event_listed`)
  const isByOwner = owner !== '' && large > 0 && hasList(owner)
  if (subject === '' && owner !== '' && !isByOwner) return undefined
  const lists = { subject, owner: isByOwner ? owner : '', upTo: position }
  return { ...lists, types: types ?? (await typesOf(database, lists)) }
}

/** The types on the lists of a subject, each found after the one before. */
async function typesOf(
  database: Database,
  { subject, owner }: Pick<Lists, 'subject' | 'owner'>,
): Promise<string[]> {
  const next = (after: Sql) => sql`(
    SELECT type FROM mortise_event_list WHERE subject = ${subject} AND owner = ${owner} ${after} ORDER BY type LIMIT 1)`
  const rows = await database.many<{ name: string }>(sql`
    WITH RECURSIVE found (name) AS (
      SELECT ${next(sql``)} UNION ALL SELECT ${next(sql`AND type > found.name`)} FROM found WHERE name IS NOT NULL)
    SELECT name FROM found WHERE name IS NOT NULL`)
  return rows.map(({ name }) => name)
}

/** The next events on these lists, in order. Fewer than `limit` are all. */
export async function findListed(
  database: Database,
  { subject, owner, types, upTo }: Lists,
  after: number,
  limit: number,
): Promise<Pick<Event, 'position'>[]> {
  const wanted = [...new Set(types)]
  const found: Pick<Event, 'position'>[] = []
  for (let from = 0; from < wanted.length; from += TYPES_AT_ONCE) {
    const each = wanted.slice(from, from + TYPES_AT_ONCE).map((type) => {
      const list = sql`${subject}, ${owner}, ${type}`
      const next = byEngine({
        sqlite: sql`
          (subject, owner, type) = (${list}) AND position > ${after} AND position <= ${upTo}
          ORDER BY position`,
        // As rows, so that whatever PostgreSQL assumes it reads the index in its order.
        postgres: sql`
          (subject, owner, type, position) > (${list}, ${after})
            AND (subject, owner, type, position) <= (${list}, ${upTo})
          ORDER BY subject, owner, type, position`,
      })
      return sql`
        SELECT position FROM (SELECT position FROM mortise_event_list WHERE ${next} LIMIT ${limit}) AS list`
    })
    found.push(...(await database.many<Pick<Event, 'position'>>(join(each, ' UNION ALL '))))
  }
  return found.sort((one, other) => one.position - other.position).slice(0, limit)
}
