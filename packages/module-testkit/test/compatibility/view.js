import view from '@fastify/view'
import { defineModule } from '@mortise/module-sdk'
import { Type } from '@sinclair/typebox'
import { Eta } from 'eta'

const config = { access: 'public' }
const schema = { response: { 200: Type.String({ description: 'a page' }) } }

export default defineModule('tea').plugin(async (app) => {
  await app.register(view, { engine: { eta: new Eta() }, templates: import.meta.dirname })
  app.get('/tea', { config, schema }, (_request, reply) => reply.view('tea.eta', { tea: 'green & black' }))
})
