import t from 'tap'
import { allPass } from './pass.ts'

// With APP_TEST_DATABASE_URL, on PostgreSQL too.
t.test('our examples pass', (t) => allPass(t, 'docs/examples/[a-m]*/package.json', 4))
