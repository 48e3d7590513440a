import { defineModule } from '@mortise/module-sdk'
import { Type } from '@sinclair/typebox'

const MyThing = Type.Object({ caller: Type.String() }, { title: 'MyThing' })

export default defineModule('my-thing').plugin(async (app) => {
  app.get(
    '/my-thing',
    { config: { access: 'caller' }, schema: { summary: 'Who is asking', response: { 200: MyThing } } },
    async ({ caller }) => ({ caller: caller.id }),
  )
})
