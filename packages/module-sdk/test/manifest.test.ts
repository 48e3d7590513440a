import { readFile } from 'node:fs/promises'
import t from 'tap'
import { Manifest } from '../src/manifest.ts'

t.test('the JSON Schema that is published is the one that the host checks', async (t) => {
  const published = await readFile(new URL('../manifest.schema.json', import.meta.url), 'utf8')
  t.equal(
    published,
    `${JSON.stringify(Manifest, null, 2)}\n`,
    'run "npm run manifest-schema -w packages/module-sdk" and commit what it writes',
  )
})
