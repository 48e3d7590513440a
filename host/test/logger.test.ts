import t from 'tap'
import { createLogger } from '../src/logger.ts'

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

t.test('what is below the level is not written', async (t) => {
  const lines: string[] = []
  createLogger({ ...settings, level: 'error' }, { write: (line) => lines.push(line) }).warn('unheard')
  t.same(lines, [])
})
