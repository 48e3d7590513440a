import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { countWork, type Work } from '../src/count-work.ts'

// The most work that the host may do for a request. Lower a number with the change that saves the work.

const postgres = process.env.APP_TEST_DATABASE_URL
const skip = postgres === undefined && 'APP_TEST_DATABASE_URL names no PostgreSQL: run npm test'

/** Statements, and B-trees opened for writing. */
const onSqlite = {
  'GET /cart, guest': [2, 0],
  'GET /cart, JWT': [1, 0],
  'POST /cart/item, guest': [9, 12],
  'POST /cart/item, JWT': [7, 9],
  'POST /cart/item, JWT, with an Idempotency-Key': [9, 13],
  'POST /purchase, JWT': [7, 10],
}
/** Statements and round trips. */
const onPostgres = {
  'GET /cart, guest': [2, 2],
  'GET /cart, JWT': [1, 1],
  'POST /cart/item, guest': [7, 3],
  'POST /cart/item, JWT': [5, 2],
  'POST /cart/item, JWT, with an Idempotency-Key': [7, 2],
  'POST /purchase, JWT': [4, 2],
}

t.test('a request to the host on SQLite takes no more statements and B-trees than today', (t) =>
  atMost(t, onSqlite, ({ statements, trees }) => [statements, trees?.length ?? 0]),
)

t.test(
  'a request to the host on PostgreSQL takes no more statements and round trips than today',
  { skip },
  (t) => atMost(t, onPostgres, ({ statements, roundTrips }) => [statements, roundTrips ?? 0], postgres),
)

async function atMost(
  t: Test,
  most: Readonly<Record<string, readonly number[]>>,
  numbersOf: (work: Work) => readonly number[],
  url?: string,
): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), 'mortise-work-test-'))
  t.teardown(() => rm(directory, { recursive: true, force: true }))
  const work = await countWork(directory, url)
  t.same(Object.keys(work), Object.keys(most), 'every scenario has a limit')
  for (const [scenario, limits] of Object.entries(most)) {
    const numbers = numbersOf(work[scenario]?.host as Work)
    t.ok((numbers[0] as number) > 0, `${scenario}: the statements are counted`)
    for (const [index, limit] of limits.entries()) {
      t.ok((numbers[index] as number) <= limit, `${scenario}: ${numbers} is at most ${limits}`)
    }
  }
}
