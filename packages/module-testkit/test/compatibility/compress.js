import compress from '@fastify/compress'
import { defineModule } from '@mortise/module-sdk'
import { Type } from '@sinclair/typebox'

const config = { access: 'public' }
const schema = { response: { 200: Type.Object({ tea: Type.String() }) } }

export default defineModule('tea').plugin(async (app) => {
  await app.register(compress, { threshold: 1024 })
  app.get('/tea', { config, schema }, async () => ({ tea: 'green '.repeat(1000) }))
})
