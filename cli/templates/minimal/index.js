import { defineModule } from '@mortise/module-sdk'
import { Type } from '@sinclair/typebox'

const MyThing = Type.Object({ kind: Type.String() }, { title: 'MyThing' })

export default defineModule('my-thing').plugin(async (app) => {
  app.get(
    '/my-thing',
    {
      config: { access: 'caller' },
      schema: { summary: 'Whether a user or a guest asks', response: { 200: MyThing } },
    },
    async ({ caller }) => ({ kind: caller.kind }),
  )
})
