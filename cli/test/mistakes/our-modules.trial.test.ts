import t from 'tap'
import { allPass } from './pass.ts'

// With APP_TEST_DATABASE_URL, on PostgreSQL too.
t.test('our modules pass', (t) => allPass(t, 'packages/api-*/package.json', 3))
