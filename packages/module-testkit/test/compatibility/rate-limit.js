import rateLimit from '@fastify/rate-limit'
import { defineModule } from '@mortise/module-sdk'
import { Type } from '@sinclair/typebox'

const config = { access: 'public' }
const schema = { response: { 200: Type.Object({ tea: Type.String() }) } }

export default defineModule('tea').plugin(async (app) => {
  await app.register(rateLimit, { max: 1, timeWindow: 60_000 })
  app.get('/tea', { config, schema }, async () => ({ tea: 'green' }))
})
