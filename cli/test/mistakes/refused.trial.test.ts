import t from 'tap'
import { alone } from './mistakes.ts'
import { finds } from './plant.ts'

const hasPostgres = Boolean(process.env.APP_TEST_DATABASE_URL)

for (const mistake of alone) {
  t.test(mistake.name, { skip: mistake.postgres === true && !hasPostgres }, (t) => finds(t, [mistake]))
}
