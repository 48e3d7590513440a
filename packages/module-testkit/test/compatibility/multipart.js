import multipart from '@fastify/multipart'
import { defineModule } from '@mortise/module-sdk'
import { Type } from '@sinclair/typebox'

const config = { access: 'public' }
const schema = { response: { 200: Type.Object({ name: Type.String(), size: Type.Integer() }) } }

export default defineModule('tea').plugin(async (app) => {
  await app.register(multipart, { limits: { fileSize: 100_000, files: 1 } })
  app.post('/tea', { config, schema }, async (request) => {
    const file = await request.file()
    const bytes = await file.toBuffer()
    return { name: file.filename, size: bytes.length }
  })
})
