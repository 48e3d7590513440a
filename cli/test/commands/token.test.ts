import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { runApp, testApplication } from '../run-app.ts'

const payloadOf = (token: string) =>
  JSON.parse(Buffer.from(token.split('.')[1] as string, 'base64url').toString())

t.test('stdout has only the token, with its subject and expiry', async (t) => {
  const { directory } = await testApplication(t)
  const { exitCode, stdout } = await runApp('token', 'alice', '--dir', directory)
  t.equal(exitCode, 0)
  t.match(stdout, /^[\w-]+\.[\w-]+\.[\w-]+\n$/)
  const { sub, iss, iat, exp, scope } = payloadOf(stdout)
  t.match({ sub, iss }, { sub: 'alice', iss: /^urn:uuid:/ })
  t.equal(exp - iat, 3600)
  t.equal(scope, undefined)
})

t.test('the token has --scope and --expires', async (t) => {
  const { run } = await testApplication(t)
  const { json } = await run('token', 'support', '--scope', 'purchase:read admin', '--expires', '30d')
  const { scope, exp, iat } = payloadOf(json.token)
  t.equal(scope, 'purchase:read admin')
  t.equal(exp - iat, 30 * 86_400)
})

t.test('an invalid claim is wrong usage', async (t) => {
  const { run } = await testApplication(t)
  for (const argv of [['a', '--expires', 'soon'], ['a', '--scope', 'a  b'], [''], ['x'.repeat(256)], []]) {
    t.match(await run('token', ...argv), { exitCode: 2, json: { error: { exitCode: 2, hint: String } } })
  }
})

t.test('without a secret the hint says how to create one', async (t) => {
  const { directory, run } = await testApplication(t)
  await rm(join(directory, '.app', 'secret'))
  const { exitCode, json } = await run('token', 'alice')
  t.equal(exitCode, 2)
  t.match(json.error, { code: 'no-secret', hint: `app init ${directory}` })
})
