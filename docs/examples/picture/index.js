import {
  Binary,
  defineModule,
  FilePart,
  Id,
  IdParams,
  newId,
  one,
  respond,
  run,
  Strict,
  sql,
} from '@mortise/module-sdk'
import { Type } from '@sinclair/typebox'

const mediaTypes = ['image/png', 'image/jpeg']
const NewPicture = Strict(
  {
    title: Type.String({ minLength: 1, maxLength: 100 }),
    picture: FilePart({ mediaTypes, maxLength: 256 * 1024 }),
  },
  { title: 'NewPicture' },
)
const Picture = Type.Object(
  { id: Id('picture'), title: Type.String(), mediaType: Type.String(), size: Type.Integer() },
  { title: 'Picture' },
)
const MOST = 20

const { plugin, problem, responses } = defineModule('picture', {
  problems: {
    'no-such-picture': { status: 404, title: 'No such picture', detail: 'You have no picture with this id.' },
    'too-many-pictures': {
      status: 409,
      title: 'Too many pictures',
      detail: `You have ${MOST} pictures already.`,
    },
  },
})

export default plugin(async (app, { database, onClaim }) => {
  const config = { access: 'caller' }

  app.post(
    '/picture',
    {
      config,
      schema: {
        summary: 'Add a picture',
        body: NewPicture,
        response: { 201: Picture, ...responses('too-many-pictures') },
      },
    },
    (request) =>
      request.transaction(function* () {
        const { title, picture } = request.body
        const owner = request.caller.id
        const { count } = yield* one(sql`SELECT count(*) AS count FROM picture WHERE owner = ${owner}`)
        if (count >= MOST) throw problem('too-many-pictures')
        const id = newId('picture')
        yield* run(sql`
          INSERT INTO picture (id, owner, title, media_type, bytes)
          VALUES (${id}, ${owner}, ${title}, ${picture.mediaType}, ${picture.bytes})`)
        const { mediaType, bytes } = picture
        return respond(201, { id, title, mediaType, size: bytes.length }, { location: `/picture/${id}` })
      }),
  )

  app.get(
    '/picture/:id',
    {
      config,
      schema: {
        summary: 'The bytes of a picture',
        params: IdParams,
        response: { 200: Binary('image/*'), ...responses('no-such-picture') },
      },
    },
    async ({ caller, params }, reply) => {
      const found = await database.maybeOne(sql`
        SELECT media_type AS "mediaType", bytes FROM picture WHERE id = ${params.id} AND owner = ${caller.id}`)
      if (!found) throw problem('no-such-picture')
      reply.type(found.mediaType)
      return found.bytes
    },
  )

  onClaim(function* ({ guest, user }) {
    yield* run(sql`UPDATE picture SET owner = ${user} WHERE owner = ${guest}`)
  })
})
