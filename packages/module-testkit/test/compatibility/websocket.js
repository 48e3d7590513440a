import websocket from '@fastify/websocket'
import { defineModule } from '@mortise/module-sdk'

export default defineModule('tea').plugin(async (app) => {
  await app.register(websocket)
  app.get('/tea', { config: { access: 'public' }, websocket: true }, () => {})
})
