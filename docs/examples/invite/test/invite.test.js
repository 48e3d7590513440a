import assert from 'node:assert/strict'
import { once } from 'node:events'
import { dirname } from 'node:path'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { createTestHost, onEngines } from '@mortise/module-testkit'
import { SMTPServer } from 'smtp-server'

/** A mail server that keeps what it gets. */
async function mailServer(t) {
  const mails = []
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS'],
    onData: (stream, _session, done) => text(stream).then((mail) => done(null, void mails.push(mail)), done),
  })
  server.listen(0, '127.0.0.1')
  await once(server.server, 'listening')
  t.after(() => server.close())
  return { mails, smtp: `smtp://127.0.0.1:${server.server.address().port}` }
}

onEngines(test)('an invitation is mailed after its request', async (t) => {
  const { mails, smtp } = await mailServer(t)
  const modules = [{ directory: dirname(import.meta.dirname) }]
  const host = await createTestHost(t, { modules, config: { modules: { invite: { smtp } } } })
  assert.equal((await host.user('ann').post('/invite', { email: 'bob@example.com' })).statusCode, 202)
  await host.reacted()
  assert.equal(mails.length, 1)
  assert.match(mails[0], /^To: bob@example.com\r?$/m)
  assert.match(mails[0], /^Message-ID: <job_\w+@example.com>\r?$/m)
})
