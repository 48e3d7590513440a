import { readFile } from 'node:fs/promises'
import t from 'tap'
import { recordedRuns } from '../src/record.ts'
import { reliabilityPage } from '../src/reliability-page.ts'
import { verifications } from '../src/verifications.ts'

t.test('docs/reliability.md shows the recorded runs, and each run passed', async (t) => {
  const runs = await recordedRuns()
  const page = await readFile(new URL('../../../docs/reliability.md', import.meta.url), 'utf8')
  t.equal(page, reliabilityPage(verifications, runs), 'npm run verify -- NAME --record writes it')
  for (const { name, failures } of runs.values()) t.same(failures, [], name)
  t.same(
    Object.keys(verifications).filter((name) => !runs.has(name)),
    [],
    'each has a recorded run',
  )
})
