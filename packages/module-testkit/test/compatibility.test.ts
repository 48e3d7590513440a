import { readFile } from 'node:fs/promises'
import t, { type Test } from 'tap'
import { createTestHost } from '../src/create-test-host.ts'
import { onEngines } from '../src/on-engines.ts'
import { plugins } from './compatibility/plugins.ts'
import { manifestOf, packageFolder } from './package-folder.ts'

const table = {
  'migrations/001-tea.sql':
    "CREATE TABLE tea (name TEXT NOT NULL, cups INTEGER NOT NULL);\n\nINSERT INTO tea (name, cups) VALUES ('green', 2), ('black', 1);",
  'migrations/001-tea.down.sql': 'DROP TABLE tea;',
}

for (const { name, file, verdict, note, route = 'GET /tea', send, expected } of plugins) {
  onEngines<Test>(t.test)(`${name}: ${verdict}`, async (t) => {
    const { default: plugin } = await import(`./compatibility/${file}.js`)
    const manifest = { id: 'tea', routes: [route], tables: 'tea', migrations: 'migrations' }
    const directory = await packageFolder(t, { 'package.json': manifestOf(manifest), ...table })
    const options = { modules: [{ directory, plugin }], config: { log: { level: 'silent' } } }
    if (verdict === 'refused') {
      await t.rejects(createTestHost(t, options), { module: 'tea', message: note })
      return
    }
    const caller = (await createTestHost(t, options)).guest()
    const { statusCode, headers, body } = await (send?.(caller) ?? caller.get('/tea'))
    const isJson = String(headers['content-type']).includes('json') && !headers['content-encoding']
    t.match({ statusCode, headers, body, json: isJson ? JSON.parse(body) : undefined }, expected ?? {})
    t.ok(expected, 'a plugin that works says what it returns')
  })
}

t.test('the table of the page is this one', async (t) => {
  const page = await readFile(new URL('../../../docs/compatibility.md', import.meta.url), 'utf8')
  const rows = Array.from(page.matchAll(/^\| `(.+?)` \| (.+?) \| (.+) \|$/gm), ([, ...cells]) => cells)
  t.strictSame(
    rows,
    plugins.map(({ name, verdict, note }) => [name, verdict, note]),
  )
})
