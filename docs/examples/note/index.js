import {
  currentTime,
  Deleted,
  defineModule,
  Id,
  IdParams,
  List,
  newId,
  one,
  respond,
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
  { id: Id('note'), text: Type.String(), createdAt: Timestamp, expiresAt: Timestamp },
  { title: 'Note' },
)

const { plugin, problem, responses } = defineModule('note', {
  settings: Strict({
    keepFor: Type.String({
      pattern: '^[1-9][0-9]{0,3}[mhdwy]$',
      default: '30d',
      description: 'how long a note is kept: a number and m, h, d, w or y',
    }),
  }),
  problems: {
    'note-not-found': {
      status: 404,
      title: 'There is no such note',
      detail: 'You have no note with this id: GET /note lists those you have.',
    },
    'too-many-notes': { status: 409, title: 'The caller has no room for another note' },
  },
})

export default plugin(async (app, { database, onClaim, settings }) => {
  const config = { access: 'caller' }
  const lifetime = ms(settings.keepFor)
  const note = { params: IdParams, response: { 200: Note, ...responses('note-not-found') } }

  app.get(
    '/note',
    { config, schema: { summary: 'The notes of the caller, oldest first', response: { 200: List(Note) } } },
    async ({ caller }) => {
      const notes = await database.many(sql`
        SELECT id, text, created_at AS "createdAt", expires_at AS "expiresAt" FROM note
        WHERE owner = ${caller.id} AND expires_at > ${currentTime()}
        ORDER BY created_at, id`)
      return { data: notes.map(toNote) }
    },
  )

  app.post(
    '/note',
    {
      config,
      schema: {
        summary: 'Write a note',
        body: NewNote,
        response: { 201: Note, ...responses('too-many-notes') },
      },
    },
    (request) =>
      request.transaction(function* () {
        const owner = request.caller.id
        const now = currentTime()
        yield* run(sql`DELETE FROM note WHERE owner = ${owner} AND expires_at <= ${now}`)
        const { count } = yield* one(sql`SELECT count(*) AS count FROM note WHERE owner = ${owner}`)
        if (count >= MAX_NOTES) {
          throw problem('too-many-notes', `You have ${MAX_NOTES} notes already: delete one first.`)
        }
        const { text } = request.body
        const written = { id: newId('note'), text, createdAt: now, expiresAt: now + lifetime }
        yield* run(sql`
          INSERT INTO note (id, owner, text, created_at, expires_at)
          VALUES (${written.id}, ${owner}, ${text}, ${written.createdAt}, ${written.expiresAt})`)
        return respond(201, toNote(written), { location: `/note/${written.id}` })
      }),
  )

  app.get('/note/:id', { config, schema: { summary: 'One note', ...note } }, async ({ caller, params }) => {
    const found = await database.maybeOne(sql`
      SELECT id, text, created_at AS "createdAt", expires_at AS "expiresAt" FROM note
      WHERE id = ${params.id} AND owner = ${caller.id} AND expires_at > ${currentTime()}`)
    if (!found) throw problem('note-not-found')
    return toNote(found)
  })

  app.delete(
    '/note/:id',
    { config, schema: { summary: 'Delete a note', ...note, response: { ...note.response, 200: Deleted } } },
    (request) =>
      request.transaction(function* () {
        const { id } = request.params
        const deleted = yield* run(sql`
          DELETE FROM note
          WHERE id = ${id} AND owner = ${request.caller.id} AND expires_at > ${currentTime()}`)
        if (deleted === 0) throw problem('note-not-found')
        return { id, deleted: true }
      }),
  )

  onClaim(function* ({ guest, user }) {
    yield* run(sql`UPDATE note SET owner = ${user} WHERE owner = ${guest}`)
  })
})

const toNote = ({ createdAt, expiresAt, ...note }) => ({
  ...note,
  createdAt: timestamp(createdAt),
  expiresAt: timestamp(expiresAt),
})
