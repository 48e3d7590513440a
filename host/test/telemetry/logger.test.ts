import { spawnSync } from 'node:child_process'
import { closeSync, existsSync, openSync } from 'node:fs'
import t from 'tap'
import { createLogger } from '../../src/telemetry/logger.ts'

const settings = { level: 'info', requests: false, slowMs: 1000 } as const

t.test('credentials never reach the log', async (t) => {
  const lines: string[] = []
  const log = createLogger(settings, { write: (line) => lines.push(line) })
  const headers = {
    authorization: 'Bearer secret',
    cookie: 'guest=secret',
    'set-cookie': 'guest=secret',
    'guest-token': 'secret',
    'idempotency-key': 'secret',
    accept: 'everything',
  }
  log.info({ headers }, 'own')
  log.warn({ req: { headers } }, 'nested')
  t.equal(lines.length, 2)
  for (const line of lines) {
    t.notMatch(line, /secret/)
    t.match(JSON.parse(line), { msg: String })
    t.match(line, 'everything')
  }
})

t.test('lines below the level are not written', async (t) => {
  const lines: string[] = []
  createLogger({ ...settings, level: 'error' }, { write: (line) => lines.push(line) }).warn('unheard')
  t.same(lines, [])
})

t.test(
  'a log on a full disk ends nothing',
  { skip: !existsSync('/dev/full') && 'there is no /dev/full' },
  async (t) => {
    const program = `
    const { createLogger } = await import(${JSON.stringify(new URL('../../src/telemetry/logger.ts', import.meta.url).href)})
    const log = createLogger({ level: 'info', requests: false, slowMs: 1000 })
    for (let line = 0; line < 20_000; line++) log.info('x'.repeat(100))
    setTimeout(() => process.stdout.write('alive'), 50)`
    const full = openSync('/dev/full', 'w')
    t.teardown(() => closeSync(full))
    const { status, stdout } = spawnSync(process.execPath, ['--input-type=module', '-e', program], {
      stdio: ['ignore', 'pipe', full],
      encoding: 'utf8',
    })
    t.match({ status, stdout }, { status: 0, stdout: 'alive' })
  },
)
