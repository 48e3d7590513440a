import underPressure from '@fastify/under-pressure'
import { defineModule } from '@mortise/module-sdk'
import { Type } from '@sinclair/typebox'

const config = { access: 'public' }
const schema = { response: { 200: Type.Object({ tea: Type.String() }) } }

export default defineModule('tea').plugin(async (app) => {
  await app.register(underPressure, {
    healthCheck: async () => process.memoryUsage().rss < 1_000,
    healthCheckInterval: 60_000,
    retryAfter: 7,
  })
  app.get('/tea', { config, schema }, async () => ({ tea: 'green' }))
})
