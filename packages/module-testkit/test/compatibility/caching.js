import caching from '@fastify/caching'
import { defineModule } from '@mortise/module-sdk'

const config = { access: 'public' }

export default defineModule('tea').plugin(async (app) => {
  await app.register(caching, { privacy: caching.privacy.PUBLIC, expiresIn: 300 })
  app.get('/tea', { config }, async () => ({ tea: 'green' }))
})
