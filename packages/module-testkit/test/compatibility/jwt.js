import jwt from '@fastify/jwt'
import { defineModule } from '@mortise/module-sdk'
import { Type } from '@sinclair/typebox'

const config = { access: 'public' }
const schema = { response: { 200: Type.Object({ tea: Type.String() }) } }

export default defineModule('tea').plugin(async (app) => {
  await app.register(jwt, { secret: 'the secret of another system, never of the host' })
  app.get('/tea', { config, schema }, async (request) => {
    await request.jwtVerify()
    return { tea: 'green' }
  })
})
