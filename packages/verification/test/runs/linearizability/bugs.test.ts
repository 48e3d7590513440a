import { readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { bugs } from '../../../src/runs/linearizability/bugs.ts'
import { replaceOnce } from '../../../src/runs/linearizability/inject-bug.ts'

const folders = Object.fromEntries(
  ['api-cart', 'host', 'storage'].map((name) => [
    name,
    dirname(fileURLToPath(import.meta.resolve(`@mortise/${name}/package.json`))),
  ]),
)

t.test('each bug can be planted in the code as it is', async (t) => {
  t.ok(bugs.length > 10)
  for (const { name, edits } of bugs) {
    for (const edit of edits) {
      const source = await readFile(join(folders[edit.package] as string, edit.file), 'utf8')
      t.not(replaceOnce(source, edit), source, name)
    }
  }
})

t.test('a text that occurs once is replaced, with any white space', async (t) => {
  const edit = { package: 'x', file: 'x.js', text: 'a( b', becomes: '$&' }
  t.equal(replaceOnce('1 a(\n  b 2', edit), '1 $& 2')
  for (const source of ['', 'a(b', 'a( b a( b'])
    t.throws(() => replaceOnce(source, edit), /x\.js has [02] times/)
})
