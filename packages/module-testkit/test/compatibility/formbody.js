import formbody from '@fastify/formbody'
import { defineModule, Strict } from '@mortise/module-sdk'
import { Type } from '@sinclair/typebox'

const config = { access: 'public' }
const Tea = Strict({ tea: Type.String() })
const schema = { body: Tea, response: { 200: Tea } }

export default defineModule('tea').plugin(async (app) => {
  await app.register(formbody)
  app.post('/tea', { config, schema }, async (request) => ({ tea: request.body.tea }))
})
