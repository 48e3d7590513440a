import fastifyStatic from '@fastify/static'
import { defineModule } from '@mortise/module-sdk'
import { Type } from '@sinclair/typebox'

const config = { access: 'public' }
const schema = { response: { 200: Type.Any({ description: 'a file' }) } }

export default defineModule('tea').plugin(async (app) => {
  await app.register(fastifyStatic, { root: import.meta.dirname, serve: false })
  app.get('/tea/*', { config, schema }, (request, reply) => reply.sendFile(request.params['*']))
})
