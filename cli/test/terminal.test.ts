import { PassThrough } from 'node:stream'
import t from 'tap'
import { Terminal } from '../src/terminal.ts'

function terminal(json: boolean) {
  const streams = { stdin: new PassThrough(), stdout: new PassThrough(), stderr: new PassThrough() }
  const said = (name: 'stdout' | 'stderr') => String(streams[name].read() ?? '')
  return { terminal: new Terminal(streams, json), said }
}

t.test('text for people has nothing in it that steers a terminal', async (t) => {
  const { terminal: people, said } = terminal(false)
  people.result({}, 'a\u001b[2Jb\u202ec\n  d\te')
  t.equal(said('stdout'), 'a?[2Jb?c\n  d\te\n')
  people.note('\u0007')
  t.equal(said('stderr'), '?\n')
})

t.test('a program gets one document, whatever happens after it', async (t) => {
  const { terminal: program, said } = terminal(true)
  program.result({ url: 'x' }, 'text')
  program.result({ error: {} }, 'it failed later')
  t.strictSame(JSON.parse(said('stdout')), { url: 'x' })
  t.equal(said('stderr'), 'it failed later\n')
})

t.test('piped, nobody is asked and nothing spins', async (t) => {
  const { terminal: piped, said } = terminal(false)
  t.equal(piped.interactive, false)
  t.equal(await piped.during('working', async () => 1), 1)
  t.equal(said('stderr'), '')
})
