import { readdir } from 'node:fs/promises'
import t from 'tap'
import { startPostgres } from './start-postgres.ts'

t.test(
  'a server that does not start is started once more; then its error says why, and no folder is left',
  async (t) => {
    const folder = t.testdir({})
    const { TMPDIR } = process.env
    process.env.TMPDIR = folder
    t.teardown(() => {
      if (TMPDIR === undefined) delete process.env.TMPDIR
      else process.env.TMPDIR = TMPDIR
    })
    const said = t.capture(console, 'error')
    const tls = { certificate: 'no certificate', key: 'no key' }
    await t.rejects(startPostgres({ durable: false, tls }), {
      message: /^PostgreSQL does not start:[\s\S]*could not load server certificate/,
    })
    t.match(
      said().map(({ args }) => args[0]),
      [/^PostgreSQL does not start:[\s\S]*PostgreSQL is started once more\.$/],
    )
    t.strictSame(await readdir(folder), [])
  },
)

t.test(
  'a server has its shared memory in its own folder, so that a killed one leaves none elsewhere',
  async (t) => {
    const server = await startPostgres({ durable: false })
    t.teardown(() => server.stop())
    const { rows } = await server.query('SHOW dynamic_shared_memory_type')
    t.strictSame(rows, [{ dynamic_shared_memory_type: 'mmap' }])
  },
)
