import t from 'tap'
import { allPass } from './pass.ts'

// With APP_TEST_DATABASE_URL, on PostgreSQL too.
t.test('our other examples pass', (t) => allPass(t, 'docs/examples/[n-z]*/package.json', 7))
