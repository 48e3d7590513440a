// Writes the table of rules in the README of the test kit. `--check` writes nothing, and fails where it differs.
import { readFile, writeFile } from 'node:fs/promises'
import { rules } from '../packages/module-testkit/src/check/index.ts'

const file = new URL('../packages/module-testkit/README.md', import.meta.url)
const before = await readFile(file, 'utf8')
const rows = rules.map(({ code, finds, remedy }) => `| \`${code}\` | ${finds} | ${remedy} |\n`)
const table = `| Rule | What it finds | What to do |\n|---|---|---|\n${rows.join('')}`
const page = before.replace(/^\| Rule \|(?:.*\n)+?(?=\n|$(?!\n))/m, () => table)

if (!process.argv.includes('--check')) await writeFile(file, page)
else if (page !== before) {
  console.error('the README of the test kit is not what the rules say: npm run rules-page')
  process.exitCode = 1
}
