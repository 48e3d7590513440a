import { defineModule } from '@mortise/module-sdk'
import { Type } from '@sinclair/typebox'

const Visit = Type.Object({ number: Type.Integer() })

export default defineModule('visit').plugin(async (app, { contracts }) => {
  const tally = contracts.required('tally')

  app.post(
    '/visit',
    { config: { access: 'caller' }, schema: { summary: 'Count a visit', response: { 200: Visit } } },
    (request) =>
      request.transaction(function* () {
        return { number: yield* tally.add('visit') }
      }),
  )
})
