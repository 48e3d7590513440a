// Writes the table of settings of docs/configuration.md from the code; type and meaning are the page's own. `--check`
// writes nothing, and fails where it differs.
import { readFile, writeFile } from 'node:fs/promises'
import { configSchema, variableOf } from '@mortise/application'

const file = new URL('../docs/configuration.md', import.meta.url)
const before = await readFile(file, 'utf8')
const page = withSettings(before)

if (!process.argv.includes('--check')) await writeFile(file, page)
else if (page !== before) {
  console.error('docs/configuration.md is not what the code says: npm run settings-table')
  process.exitCode = 1
}

/** They are one table, whose first column begins with `$schema`. */
function withSettings(page) {
  const [rows] = /^\| `\$schema` \|(?:.*\n)+?(?=\n)/m.exec(page) ?? []
  const own = new Map(
    Array.from(rows.matchAll(/^\| `(.+?)` \| (.*?) \| .*?\| .*?\| (.+) \|$/gm), ([, key, type, meaning]) => [
      key,
      { type, meaning },
    ]),
  )
  const lines = settingsOf(configSchema).map(([path, { default: value }]) => {
    const key = path.join('.')
    const { type, meaning } = own.get(key) ?? {}
    if (!meaning) throw new Error(`docs/configuration.md does not say what ${key} means`)
    const variable = key === '$schema' ? '' : `\`${variableOf(path)}\``
    const cells = [
      `\`${key}\``,
      type,
      value === undefined ? '' : `\`${JSON.stringify(value)}\``,
      variable,
      meaning,
    ]
    return `|${cells.map((cell) => (cell === '' ? ' |' : ` ${cell} |`)).join('')}\n`
  })
  return page.replace(rows, () => lines.join(''))
}

function settingsOf(schema, path = []) {
  return Object.entries(schema.properties).flatMap(([key, property]) =>
    property.properties ? settingsOf(property, [...path, key]) : [[[...path, key], property]],
  )
}
