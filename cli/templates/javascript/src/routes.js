import { Deleted, IdParams, PageOf, pageQuery, respond, Strict } from '@mortise/module-sdk'
import { responses } from './module.js'
import { myThings } from './repository.js'
import { MyThing, NewMyThing } from './schemas.js'
import { addMyThing, removeMyThing, showMyThing, toMyThing } from './service.js'

export function myThingRoutes(app, database, mostPerCaller) {
  const config = { access: 'caller' }

  app.get(
    '/my-thing',
    {
      config,
      schema: {
        summary: 'List the things of the caller, newest first',
        querystring: Strict({ ...pageQuery }),
        response: { 200: PageOf(MyThing) },
      },
    },
    async ({ caller, query }, reply) =>
      reply.paged(
        await database.snapshot(() => myThings.page(query, { where: { owner: caller.id } }, toMyThing)),
      ),
  )

  app.post(
    '/my-thing',
    {
      config,
      schema: {
        summary: 'Add a thing',
        body: NewMyThing,
        response: { 201: MyThing, ...responses('my-thing-limit') },
      },
    },
    (request) =>
      request.transaction(function* () {
        const added = yield* addMyThing(request.caller, request.body.text, mostPerCaller)
        return respond(201, added, { location: `/my-thing/${added.id}` })
      }),
  )

  app.get(
    '/my-thing/:id',
    {
      config,
      schema: {
        summary: 'Get a thing',
        params: IdParams,
        response: { 200: MyThing, ...responses('my-thing-not-found') },
      },
    },
    ({ caller, params }) => database.snapshot(() => showMyThing(caller, params.id)),
  )

  app.delete(
    '/my-thing/:id',
    {
      config,
      schema: {
        summary: 'Delete a thing',
        params: IdParams,
        response: { 200: Deleted, ...responses('my-thing-not-found') },
      },
    },
    (request) => request.transaction(() => removeMyThing(request.caller, request.params.id)),
  )
}
