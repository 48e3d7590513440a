import {
  answer,
  Deleted,
  defineModule,
  defineProblems,
  Id,
  IdParams,
  List,
  newId,
  one,
  run,
  Strict,
  sql,
  Timestamp,
  timestamp,
} from '@mortise/module-sdk'
import { Type } from '@sinclair/typebox'
import ms from 'ms'

const MAX_NOTES = 100

const NewNote = Strict({ text: Type.String({ minLength: 1, maxLength: 1000 }) }, { title: 'NewNote' })
const Note = Type.Object(
  {
    id: Id('note'),
    text: Type.String(),
    createdAt: Timestamp,
    expiresAt: Timestamp,
  },
  { title: 'Note' },
)

const problems = defineProblems('note', {
  'note-not-found': { status: 404, title: 'There is no such note' },
  'too-many-notes': { status: 409, title: 'The caller has no room for another note' },
})

export default defineModule('note', async (app, { database, settings }) => {
  const config = { access: 'caller' }
  const lifetime = ms(settings.keepFor)

  app.get(
    '/note',
    { config, schema: { summary: 'The notes of the caller, oldest first', response: { 200: List(Note) } } },
    async (request) => {
      const rows = await database.many(sql`
        SELECT id, text, created_at, expires_at FROM note
        WHERE owner = ${request.caller.id} AND expires_at > ${Date.now()}
        ORDER BY created_at, id`)
      return { data: rows.map(toNote) }
    },
  )

  app.post(
    '/note',
    {
      config,
      schema: {
        summary: 'Write a note',
        body: NewNote,
        response: { 201: Note, ...problems.responses('too-many-notes') },
      },
    },
    (request) =>
      request.transaction(function* () {
        const owner = request.caller.id
        const now = Date.now()
        yield* run(sql`DELETE FROM note WHERE owner = ${owner} AND expires_at <= ${now}`)
        const { count } = yield* one(sql`SELECT count(*) AS count FROM note WHERE owner = ${owner}`)
        if (count >= MAX_NOTES) {
          throw problems.create('too-many-notes', `You have ${MAX_NOTES} notes already: delete one first.`)
        }
        const note = yield* one(sql`
          INSERT INTO note (id, owner, text, created_at, expires_at)
          VALUES (${newId('note')}, ${owner}, ${request.body.text}, ${now}, ${now + lifetime})
          RETURNING id, text, created_at, expires_at`)
        return answer(201, toNote(note), { location: `/note/${note.id}` })
      }),
  )

  app.get(
    '/note/:id',
    {
      config,
      schema: {
        summary: 'One note',
        params: IdParams,
        response: { 200: Note, ...problems.responses('note-not-found') },
      },
    },
    async (request) => {
      const note = await database.maybeOne(sql`
        SELECT id, text, created_at, expires_at FROM note
        WHERE id = ${request.params.id} AND owner = ${request.caller.id} AND expires_at > ${Date.now()}`)
      if (!note) throw noteNotFound()
      return toNote(note)
    },
  )

  app.delete(
    '/note/:id',
    {
      config,
      schema: {
        summary: 'Delete a note',
        params: IdParams,
        response: { 200: Deleted, ...problems.responses('note-not-found') },
      },
    },
    (request) =>
      request.transaction(function* () {
        const { id } = request.params
        const deleted = yield* run(sql`
          DELETE FROM note
          WHERE id = ${id} AND owner = ${request.caller.id} AND expires_at > ${Date.now()}`)
        if (deleted === 0) throw noteNotFound()
        return answer(200, { id, deleted: true })
      }),
  )
})

/** The same for every id that opens nothing: unknown, malformed, deleted, another caller's. */
const noteNotFound = () =>
  problems.create('note-not-found', 'You have no note with this id: GET /note lists those you have.')

const toNote = (row) => ({
  id: row.id,
  text: row.text,
  createdAt: timestamp(row.created_at),
  expiresAt: timestamp(row.expires_at),
})
