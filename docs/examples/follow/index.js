import { defineModule, eventStream } from '@mortise/module-sdk'

const types = ['purchase.created', 'purchase.status-changed']

export default defineModule('follow').plugin(async (app) => {
  app.get(
    '/follow',
    { config: { access: 'caller' }, schema: { summary: 'Follow your purchases', ...eventStream } },
    (_request, reply) => reply.streamEvents({ types }),
  )
})
