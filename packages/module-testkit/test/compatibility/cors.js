import cors from '@fastify/cors'
import { defineModule } from '@mortise/module-sdk'

export default defineModule('tea').plugin(async (app) => {
  await app.register(cors, { origin: 'https://tea.example' })
  app.get('/tea', { config: { access: 'public' } }, async () => ({ tea: 'green' }))
})
