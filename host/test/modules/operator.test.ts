import t from 'tap'
import { ActingTokens } from '../../src/callers/acting.ts'
import { mintToken } from '../../src/callers/mint-token.ts'
import { createTokenVerifier } from '../../src/callers/token-verifier.ts'
import { User } from '../../src/callers/user.ts'
import { runCommand } from '../../src/control/run-command.ts'
import { operatorOf } from '../../src/modules/operator.ts'

const issuer = {
  issuer: 'https://shop.example/a:b',
  secret: Buffer.from('a secret of 32 bytes, for tests only'),
}
const tokens = () => new ActingTokens(createTokenVerifier({ issuers: [issuer] }))

const operator = (
  process: { run?: (argv: readonly string[]) => Promise<never>; url?: string } = {},
  publicUrl?: string,
) => {
  const app = { prefix: '', inject: async () => ({}) } as never
  const { run = async (argv: readonly string[]) => argv as never, url = '' } = process
  return operatorOf({
    app,
    directory: '',
    storage: undefined as never,
    tokens: tokens(),
    metrics: async () => [],
    publicUrl,
    process: { run, url: () => url },
  })
}

t.test('who signs in has the id of the caller, the scopes and the times of the token', async (t) => {
  const token = await mintToken({
    ...issuer,
    subject: 'ann:b',
    scopes: ['admin', 'purchase:read'],
    expiresIn: '1h',
  })
  const { id, scopes, issuedAt = 0, expiresAt } = await tokens().signIn(token)
  t.equal(id, 'user:https%3A%2F%2Fshop.example%2Fa%3Ab:ann:b')
  t.same(scopes, ['admin', 'purchase:read'])
  t.equal(expiresAt - issuedAt, 3_630_000, 'with the tolerance for clocks')
  t.equal(User.of(id, scopes, '{}').id, id, 'the id is that of the same user')
  await t.rejects(tokens().signIn('a.b.c'), /token is invalid/)
})

t.test('a token for one request is of that user, and ends with the request', async (t) => {
  const acting = tokens()
  let kept = ''
  await acting.as({ id: 'user:x:ann', scopes: ['purchase:read'], proof: '{}' }, async (token) => {
    kept = token
    const user = await acting.verify(token)
    t.match(
      { id: user.id, reads: user.has('purchase:read'), all: user.has('admin') },
      { id: 'user:x:ann', reads: true, all: false },
    )
  })
  await t.rejects(async () => acting.verify(kept), /token is invalid/)
  await t.rejects(
    acting.as({ id: 'user:x:ann', scopes: [], proof: '{}' }, async (token) => {
      kept = token
      throw new Error('broken')
    }),
  )
  await t.rejects(async () => acting.verify(kept), /token is invalid/, 'after an error, too')
})

t.test('it runs the commands and options of a list only, and words are never options', async (t) => {
  const { run } = operator()
  t.same(await run('module-remove', ['a', '--dir=/x'], { purge: true, plan: 'p' }), [
    ...['module-remove', '--purge', '--plan=p', '--', 'a', '--dir=/x'],
  ])
  for (const command of ['token', 'restore', 'secret', 'backup', 'start', 'constructor'])
    await t.rejects(run(command), TypeError, command)
  for (const option of ['dir', 'new-database', 'verbose'])
    await t.rejects(run('module-list', [], { [option]: true }), TypeError, option)
})

t.test('it is private on loopback and with https', async (t) => {
  for (const url of ['http://127.0.0.1:3000/api', 'http://[::1]:3000', 'http://127.0.0.1'])
    t.ok(operator({ url }).isPrivate, url)
  for (const url of [
    '',
    'http://0.0.0.0:3000',
    'http://[::]:3000',
    'http://127.0.0.1.evil.example',
    'http://10.0.0.1',
  ])
    t.notOk(operator({ url }).isPrivate, url)
  t.ok(operator({ url: 'http://0.0.0.0:3000' }, 'https://shop.example').isPrivate)
  t.notOk(operator({ url: 'http://0.0.0.0:3000' }, 'http://shop.example').isPrivate)
})

t.test('a command is a process of its own, with the folder of the application', async (t) => {
  const folder = t.testdir({
    'app.js': `
      console.error('said to people')
      console.log(JSON.stringify(process.argv.slice(2)))
      process.exitCode = 4`,
    'plain.js': "console.log('no document')",
    'reads.js': `
      import { readFileSync } from 'node:fs'
      console.log(JSON.stringify({ given: readFileSync(0, 'utf8'), all: process.argv.join(' ') }))`,
    'package.json': '{ "type": "module" }',
    'killed.js': "process.kill(process.pid, 'SIGKILL')",
  })
  const heard: string[] = []
  const onNotes = (text: string) => heard.push(text)
  const runIn = (file: string, input?: string) =>
    runCommand(`${folder}/${file}`, '/srv/shop', ['module-list', '--', 'x'], { input, onNotes })
  t.same(await runIn('app.js'), {
    ...{ exitCode: 4, notes: 'said to people\n' },
    document: ['module-list', '--json', '--dir', '/srv/shop', '--', 'x'],
  })
  t.equal(heard.join(''), 'said to people\n')
  const { document } = await runIn('reads.js', 'k-123')
  t.match(document, { given: 'k-123', all: /module-list/ })
  t.notMatch((document as { all: string }).all, 'k-123', 'no argument has what it reads')
  t.match(await runIn('plain.js'), { exitCode: 0, document: undefined })
  await t.rejects(runIn('killed.js'))
})
