import { defineModule } from '@mortise/module-sdk'
import { z } from 'zod'

const config = { access: 'public' }
const Tea = z.strictObject({ tea: z.string().min(1), cups: z.int().min(1).max(9) })

/** The host validates JSON Schema. Zod writes it, without the address of its dialect. */
const { $schema, ...body } = z.toJSONSchema(Tea)

export default defineModule('tea').plugin(async (app) => {
  app.post('/tea', { config, schema: { body, response: { 200: body } } }, async (request) =>
    Tea.parse(request.body),
  )
})
