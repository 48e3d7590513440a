import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'

const page = await readFile(new URL('../README.md', import.meta.url), 'utf8')

t.test('the example works as documented', async (t) => {
  const [, example = ''] = /^```ts\n([\s\S]*?)^```/m.exec(page) ?? []
  const [, printed] = /^```text\n([\s\S]*?)^```/m.exec(page) ?? []
  const folder = t.testdir({ 'example.ts': example, 'package.json': '{ "type": "module" }' })
  const { stdout } = await promisify(execFile)(process.execPath, [join(folder, 'example.ts')])
  t.equal(stdout, printed)
})

t.test('every guarantee names tests that exist', async (t) => {
  const [, guarantees = ''] = /^## Guarantees\n([\s\S]*?)^## /m.exec(page) ?? []
  const lines = guarantees.split('\n- ').slice(1)
  t.ok(lines.length > 10)
  for (const line of lines) {
    const [guarantee, named = ''] = line.split('\n  (')
    const tests = [...named.replace(/\s+/g, ' ').matchAll(/`([\w/.-]+)`: (.*?)(?=; `|\))/g)]
    t.ok(tests.length > 0, guarantee as string)
    for (const [, file, name] of tests) {
      const text = await readFile(new URL(file as string, import.meta.url), 'utf8')
      t.ok(text.includes(`'${name}'`), `${file}: ${name}`)
    }
  }
})
