import cookie from '@fastify/cookie'
import { defineModule } from '@mortise/module-sdk'

const config = { access: 'public' }

export default defineModule('tea').plugin(async (app) => {
  await app.register(cookie)
  app.get('/tea', { config }, async (request, reply) => {
    reply.setCookie('tea', 'green', { path: '/tea', httpOnly: true })
    return { tea: request.cookies.tea ?? null }
  })
})
