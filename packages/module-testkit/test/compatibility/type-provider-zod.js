import { defineModule } from '@mortise/module-sdk'
import { serializerCompiler, validatorCompiler } from 'fastify-type-provider-zod'
import { z } from 'zod'

export default defineModule('tea').plugin(async (app) => {
  app.setValidatorCompiler(validatorCompiler)
  app.setSerializerCompiler(serializerCompiler)
  const body = z.object({ tea: z.string() })
  app.post('/tea', { config: { access: 'public' }, schema: { body } }, async () => ({ tea: 'green' }))
})
