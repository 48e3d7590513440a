import { defineModule, respond, Strict } from '@mortise/module-sdk'
import { Type } from '@sinclair/typebox'
import { createTransport } from 'nodemailer'

const settings = Strict({
  smtp: Type.String({ description: 'the URL of the mail server', default: 'smtp://127.0.0.1:25' }),
  from: Type.String({ default: 'shop@example.com' }),
})
const Invitation = Strict({ email: Type.String({ format: 'email' }) }, { title: 'Invitation' })

export default defineModule('invite', { settings }).plugin(async (app, { settings, work }) => {
  const mail = work('mail', { concurrency: 8, timeout: 30_000 }, async ({ id, data }) => {
    const transport = createTransport(settings.smtp)
    // A mail that is sent again has the same id, so that readers can show it once.
    const messageId = `<${id}@example.com>`
    await transport.sendMail({ messageId, from: settings.from, to: data.email, subject: 'Join us' })
  })

  app.post(
    '/invite',
    {
      config: { access: 'caller' },
      schema: { summary: 'Invite by mail', body: Invitation, response: { 202: Invitation } },
    },
    (request) =>
      request.transaction(function* () {
        yield* mail.add(request.body)
        return respond(202, request.body)
      }),
  )
})
