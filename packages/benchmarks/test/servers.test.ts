import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { assertSameResponses, withServers } from '../src/servers.ts'

const postgres = process.env.APP_TEST_DATABASE_URL
const skip = postgres === undefined && 'APP_TEST_DATABASE_URL names no PostgreSQL: run npm test'

t.test('the other servers return what the host returns', (t) =>
  respondAlike(t, undefined, ['host', 'bare', 'bare, grouped commits', 'host, no rate limits']),
)

t.test('the other servers on PostgreSQL return what the host returns', { skip }, (t) =>
  respondAlike(t, postgres, ['host', 'bare', 'bare, one statement', 'host, no rate limits']),
)

async function respondAlike(t: Test, postgres: string | undefined, names: readonly string[]): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), 'mortise-benchmark-test-'))
  t.teardown(() => rm(directory, { recursive: true, force: true }))
  const compare = async (servers: Parameters<typeof assertSameResponses>[0]) => {
    t.same(
      servers.map(({ name }) => name),
      names,
    )
    await assertSameResponses(servers)
  }
  await withServers({ directory, postgres, connections: 1 }, compare)
}
