import proxy from '@fastify/http-proxy'
import { defineModule } from '@mortise/module-sdk'

export default defineModule('tea').plugin(async (app) => {
  await app.register(proxy, { upstream: 'http://127.0.0.1:9', prefix: '/tea' })
})
