import helmet from '@fastify/helmet'
import { defineModule } from '@mortise/module-sdk'

export default defineModule('tea').plugin(async (app) => {
  await app.register(helmet)
  app.get('/tea', { config: { access: 'public' } }, async () => ({ tea: 'green' }))
})
