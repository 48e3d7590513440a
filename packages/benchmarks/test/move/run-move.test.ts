import t from 'tap'
import { runMove } from '../../src/move/run-move.ts'

const server = process.env.APP_TEST_DATABASE_URL
const skip = server === undefined && 'APP_TEST_DATABASE_URL names no PostgreSQL: run npm test'

// A slice of `npm run move`.
t.test('purchases move while they are read, and both databases add up to the same', { skip }, async (t) => {
  const { tables, reads, failures } = await runMove({
    ...{ purchases: 3000, server: server as string, onProgress: () => {} },
  })
  t.same(failures, [])
  t.match(tables, [{ rows: 3000 }, { rows: 6000 }, {}])
  t.match(tables[0]?.checksum, /^[0-9a-f]{64}$/)
  t.ok(reads.count > 10, `${reads.count} reads`)
})
