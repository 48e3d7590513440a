import { readFile } from 'node:fs/promises'
import t from 'tap'
import { rules } from '../src/check/index.ts'

t.test('the README lists every rule, and no other', async (t) => {
  const page = await readFile(new URL('../README.md', import.meta.url), 'utf8')
  const rows = page.match(/^\| `.*` \| .* \| .* \|$/gm)?.filter((row) => !row.includes('createTestHost'))
  const own = rules.map(({ code, finds, remedy }) => `| \`${code}\` | ${finds} | ${remedy} |`)
  t.strictSame(
    rows?.filter((row) => own.includes(row) || /^\| `[a-z-]+` \|/.test(row)),
    own,
  )
  t.equal(new Set(own).size, own.length)
})
