// Writes the tables of docs/errors.md from the registries of problems and failures. What to do about a problem of the
// API is the page's own: write it into the last column. `--check` writes nothing, and fails where the page differs.
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { declarationOf } from '@mortise/module-sdk/host'
import * as usage from '../cli/src/failures/usage.ts'
import { hostProblems } from '../host/src/http/problems.ts'
import * as failures from '../packages/installer/src/failures/index.ts'
import { escaped, table } from './markdown.js'

const file = new URL('../docs/errors.md', import.meta.url)
const packages = new URL('../packages/', import.meta.url)

const before = await readFile(file, 'utf8')
let page = withTable(before, 'The host, and all modules', (advice) => problemTable(hostProblems, advice))
for (const name of (await readdir(packages)).filter((name) => /^(api|web)-/.test(name)).sort()) {
  const { default: plugin } = await import(new URL(`${name}/src/index.ts`, packages).href)
  const definitions = declarationOf(plugin).problems
  page = withTable(page, `Module ${name}`, (advice) => problemTable({ module: name, definitions }, advice))
}
page = withTable(page, 'Codes', failureTable)

if (!process.argv.includes('--check')) await writeFile(file, page)
else if (page !== before) {
  console.error('docs/errors.md is not what the registries say: npm run errors-page')
  process.exitCode = 1
}

/** @returns `text` with another table in the section of `heading`; `table` is given the rows that are there */
function withTable(text, heading, table) {
  const section = new RegExp(`^### ${heading}\n[^#]*?\n((?:\\|.*\n)+)`, 'm').exec(text)
  if (section === null) throw new Error(`docs/errors.md has no table below "### ${heading}"`)
  const [whole, rows] = section
  return text.replace(whole, () => whole.slice(0, -rows.length) + table(rows))
}

function problemTable({ module, definitions }, rows) {
  const advice = new Map(
    Array.from(rows.matchAll(/^\| \d+ \| `(.+?)` \| .*? \| (.+) \|$/gm), ([, code, text]) => [code, text]),
  )
  return table(
    ['Status', 'Code', 'Title', 'What to do'],
    byStatus(definitions).map(([code, { status, title }]) => {
      if (!advice.has(code))
        throw new Error(`docs/errors.md does not say what to do about ${code} of ${module}`)
      return [status, `\`${code}\``, title, advice.get(code)]
    }),
  )
}

function byStatus(definitions) {
  return Object.entries(definitions).sort(([, a], [, b]) => a.status - b.status)
}

function failureTable() {
  const entries = Object.values({ ...failures, ...usage }).filter((entry) => 'hints' in entry)
  const rows = entries.flatMap(({ code, kind, message, hints }) =>
    Object.values(hints).map((hint) => [
      `\`${code}\``,
      failures.exitCodes[kind],
      escaped(message),
      escaped(hint),
    ]),
  )
  const text = ([code, exitCode, message]) => `${code} ${exitCode} ${message}`
  rows.sort((a, b) => (text(a) < text(b) ? -1 : 1))
  return table(['Code', 'Exit code', 'What happened', 'What to do'], rows)
}
