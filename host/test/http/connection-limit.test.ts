import { spawnSync } from 'node:child_process'
import t from 'tap'
import { connectionLimit, moduleSocketLimits } from '../../src/http/connection-limit.ts'

function limited(configured: number, files?: { limit: number; open: number }) {
  const lines: string[] = []
  const log = { warn: (line: string) => void lines.push(line) }
  return { most: connectionLimit(configured, log as never, files), lines }
}

t.test('as many connections as configured, where the process may open enough files', async (t) => {
  t.same(limited(2000, { limit: 65_536, open: 40 }), { most: 2000, lines: [] })
  t.same(limited(2000, { limit: Number.POSITIVE_INFINITY, open: 40 }), { most: 2000, lines: [] })
})

t.test('few files leave fewer connections, never none, and the log says so', async (t) => {
  const { most, lines } = limited(2000, { limit: 256, open: 40 })
  t.equal(most, 102)
  t.match(lines, [
    /^the host accepts 102 connections instead of 2000, because the process may open 256 files/,
  ])
  t.equal(limited(2000, { limit: 64, open: 40 }).most, 1)
})

t.test('modules leave room for connections and for files of the host', async (t) => {
  const limits = (limit: number, open = 40) => moduleSocketLimits(1000, 2000, { limit, open })
  t.same(limits(65_536), { ofModule: 1000, all: 65_536 - 40 - 2000 - 64 })
  t.same(limits(Number.POSITIVE_INFINITY), { ofModule: 1000, all: Number.POSITIVE_INFINITY })
  t.same(limits(1024), { ofModule: 38, all: 50 })
  t.same(limits(64), { ofModule: 1, all: 1 })
})

t.test(
  'the limit is the open file limit of the process',
  { skip: process.platform === 'win32' },
  async (t) => {
    const program = `
    const { connectionLimit } = await import(${JSON.stringify(new URL('../../src/http/connection-limit.ts', import.meta.url).href)})
    console.log(connectionLimit(2000, { warn() {} }))`
    const { stdout, stderr } = spawnSync(
      'sh',
      ['-c', 'ulimit -n 200 && exec "$@"', 'sh', process.execPath, '--input-type=module', '-e', program],
      { encoding: 'utf8' },
    )
    const most = Number(stdout)
    t.ok(most > 20 && most < 86, `${stdout}${stderr}`)
  },
)
