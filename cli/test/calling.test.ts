import { spawn } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { Application } from '@mortise/host/serving'
import t from 'tap'
import { testApplication } from './run-app.ts'

// docs/calling.md, done line by line by someone with a shell and curl.
t.test('the calls of the page return the documented responses', async (t) => {
  const page = await readFile(join(import.meta.dirname, '..', '..', 'docs', 'calling.md'), 'utf8')
  const blocks = Array.from(page.matchAll(/^```sh\n([\s\S]*?)^```$/gm), ([, block]) => block as string)
  const { directory, run } = await testApplication(t)
  t.equal((await run('module-install', 'api-cart', 'api-purchase', 'api-event')).exitCode, 0)
  const host = await Application.start({ directory, port: 0, environment: { APP_LOG_LEVEL: 'silent' } })
  t.teardown(() => host.close())

  // One shell for all of it, since it sets variables; the lines are distinguished by what it says between them.
  const lines = blocks
    .join('')
    .replaceAll('http://127.0.0.1:3000', host.url)
    .replace('curl -N', 'curl -N -m 1 -i') // a stream continues until it is left
    .trim()
    .split('\n')
  const env = { ...process.env, JWT: (await run('token', 'ann')).json.token }
  const shell = spawn('sh', ['-s'], { stdio: ['pipe', 'pipe', 'ignore'], env })
  shell.stdin.end(lines.map((line) => `${line}\necho '<next>'\n`).join(''))
  const said = (await text(shell.stdout)).split('<next>\n')
  t.equal(said.length, lines.length + 1)
  const [
    ,
    first = '',
    second = '',
    became = '',
    ,
    same,
    added,
    emptied,
    ,
    following,
    listed = '',
    streamed,
    claimed,
  ] = said
  const bodyOf = (response: string) => response.split('\r\n\r\n')[1]

  t.match(first, /^HTTP\/1.1 201 /)
  t.match(second, /^HTTP\/1.1 201 [\s\S]*^idempotent-replayed: true\r$/m)
  t.equal(bodyOf(second), bodyOf(first))
  t.match(JSON.parse(became), { state: 'done', responses: [{ route: 'POST /purchase', status: 201 }] })
  t.match(same, /^HTTP\/1.1 304 /)
  t.match(added, /^HTTP\/1.1 201 /)
  t.match(emptied, /^HTTP\/1.1 412 [\s\S]*precondition-failed/)
  t.match(following, /^HTTP\/1.1 200 [\s\S]*\{"data":\[\],"rpp":1\}$/)
  t.match(JSON.parse(listed).data, [{ type: 'purchase.created' }, { type: 'cart.item-added' }])
  t.match(streamed, /^HTTP\/1.1 200 [\s\S]*^content-type: text\/event-stream/m)
  t.match(claimed, /^HTTP\/1.1 200 [\s\S]*"claimed":true/)
})
