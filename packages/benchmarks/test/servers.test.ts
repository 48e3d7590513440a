import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { assertSameAnswers, withServers } from '../src/servers.ts'

t.test('the bare servers answer what the host answers', async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'mortise-benchmark-test-'))
  t.teardown(() => rm(directory, { recursive: true, force: true }))
  await withServers(directory, async (servers) => {
    t.same(
      servers.map(({ name }) => name),
      ['host', 'bare', 'bare, grouped commits'],
    )
    await assertSameAnswers(servers)
  })
})
