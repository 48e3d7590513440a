import { spawnSync } from 'node:child_process'
import { PassThrough } from 'node:stream'
import { mock } from 'node:test'
import t from 'tap'
import { Terminal } from '../../src/terminal/terminal.ts'
import { testApplication } from '../run-app.ts'
import { door } from '../run-process.ts'

function terminal(json: boolean) {
  const streams = { stdin: new PassThrough(), stdout: new PassThrough(), stderr: new PassThrough() }
  const said = (name: 'stdout' | 'stderr') => String(streams[name].read() ?? '')
  return { terminal: new Terminal(streams, json), said, streams }
}

t.test('text output has no terminal control characters', async (t) => {
  const { terminal: people, said } = terminal(false)
  people.result({}, 'a\u001b[2Jb\u202ec\n  d\te')
  t.equal(said('stdout'), 'a?[2Jb?c\n  d\te\n')
  people.note('\u0007')
  t.equal(said('stderr'), '?\n')
})

t.test('--json prints one document, whatever happens later', async (t) => {
  const { terminal: program, said } = terminal(true)
  program.result({ url: 'x' }, 'text')
  program.result({ error: {} }, 'it failed later')
  t.strictSame(JSON.parse(said('stdout')), { url: 'x' })
  t.equal(said('stderr'), 'it failed later\n')
})

t.test('without a terminal there is no question and no spinner', async (t) => {
  const { terminal: piped, said } = terminal(false)
  t.equal(piped.interactive, false)
  t.equal(await piped.during('working', async () => 1), 1)
  t.equal(said('stderr'), '')
})

for (const [columns, spins] of [
  [80, true],
  [0, false],
  [undefined, false],
] as const) {
  t.test(
    `a terminal of ${columns} columns: ${spins ? 'a spinner' : 'no spinner, and the work continues'}`,
    async (t) => {
      const stderr = Object.assign(new PassThrough(), { isTTY: true, columns, cursorTo() {}, clearLine() {} })
      const streams = { stdin: new PassThrough(), stdout: new PassThrough(), stderr }
      const longerThanSilence = () => new Promise<number>((resolve) => setTimeout(resolve, 700, 1))
      t.equal(await new Terminal(streams, false).during('working', longerThanSilence), 1)
      t.equal(String(stderr.read() ?? '').includes('working'), spins)
    },
  )
}

t.test('a signal during the work shows the cursor again, and reaches who listens', async (t) => {
  const { CI } = process.env
  delete process.env.CI
  const stderr = Object.assign(new PassThrough(), { isTTY: true, columns: 80, cursorTo() {}, clearLine() {} })
  const streams = { stdin: new PassThrough(), stdout: new PassThrough(), stderr }
  const heard = new Promise<void>((resolve) => process.once('SIGTERM', () => resolve()))
  t.teardown(() => process.removeAllListeners('SIGTERM'))
  process.on('SIGTERM', () => {})
  await new Terminal(streams, false).during('working', async () => {
    await new Promise((resolve) => setTimeout(resolve, 700))
    process.emit('SIGTERM', 'SIGTERM')
    t.match(String(stderr.read()), /\?25l[\s\S]*\?25h/)
    await heard
  })
  if (CI !== undefined) process.env.CI = CI
})

const hasScript = spawnSync('script', ['-qec', 'true', '/dev/null']).status === 0
t.test('a real terminal with 0 columns', { skip: !hasScript && 'there is no script(1)' }, async (t) => {
  const { directory } = await testApplication(t)
  const command = `stty cols 0 rows 0; "${process.execPath}" "${door}" module-install api-cart --dir "${directory}"`
  const { status, stdout } = spawnSync('script', ['-qec', command, '/dev/null'], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: 30_000,
    killSignal: 'SIGKILL',
  })
  t.equal(status, 0, stdout)
  t.match(stdout, /Installed api-cart/)
})

t.test('a question about a foreign name acts on no terminal', async (t) => {
  const { terminal: asked, said, streams } = terminal(false)
  const reply = asked.confirm('Trust \u001b[2Jx\u202e?')
  streams.stdin.end('y\n')
  t.equal(await reply, true)
  t.equal(said('stderr'), 'Trust ?[2Jx?? [y/N] ')
})

t.test('a question waits a minute for its response', async (t) => {
  mock.timers.enable({ apis: ['setTimeout'] })
  t.teardown(() => mock.timers.reset())
  const { terminal: asked } = terminal(false)
  let response: unknown = 'none yet'
  const end = asked.confirm('Sure?').then((value) => {
    response = value
  })
  mock.timers.tick(59_999)
  await new Promise(setImmediate)
  t.equal(response, 'none yet')
  mock.timers.tick(1)
  await end
  t.equal(response, undefined)
})
