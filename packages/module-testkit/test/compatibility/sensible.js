import sensible from '@fastify/sensible'
import { defineModule } from '@mortise/module-sdk'
import { Type } from '@sinclair/typebox'

const config = { access: 'public' }
const schema = { response: { 200: Type.Object({ tea: Type.String() }) } }

export default defineModule('tea').plugin(async (app) => {
  await app.register(sensible)
  app.get('/tea', { config, schema }, async () => {
    throw app.httpErrors.notFound('There is no tea.')
  })
})
