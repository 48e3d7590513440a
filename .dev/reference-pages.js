// Writes the reference of the site from the code: docs/reference, and the settings of docs/configuration.md, where the
// type and the meaning are the page's own. `--check` writes nothing, and fails where a page differs.
import { readFile, writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { Manifest } from '@mortise/module-sdk/host'
import ts from 'typescript'
import { commands } from '../cli/src/commands/index.ts'
import { configSchema } from '../host/src/config/config-schema.ts'
import { describeSchema } from '../host/src/config/describe-schema.ts'
import { variableOf } from '../host/src/config/settings.ts'
import { escaped, table } from './markdown.js'

const docs = new URL('../docs/', import.meta.url)
const note = '<!-- made by npm run reference-pages -->'
const pages = {
  'reference/commands.md': commandsPage,
  'reference/manifest.md': manifestPage,
  'reference/sdk.md': sdkPage,
  'configuration.md': settingsTable,
}

for (const [name, write] of Object.entries(pages)) {
  const file = new URL(name, docs)
  const before = await readFile(file, 'utf8').catch(() => '')
  const page = await write(before)
  if (page === before) continue
  if (process.argv.includes('--check')) {
    console.error(`docs/${name} is not what the code says: npm run reference-pages`)
    process.exitCode = 1
  } else await writeFile(file, page)
}

async function commandsPage() {
  const common = [
    ['--dir <dir>', 'the application folder (default: this folder or the nearest one above)'],
    ['--json', 'print one JSON document'],
    ['--verbose', 'print all details of a plan, and stack traces'],
    ['-h, --help', 'print the help of the command'],
  ]
  const sections = await Promise.all(
    commands.map(async ({ name, alias, summary, arguments: words, load }) => {
      const { options = [], changes, directory, examples } = await load()
      const own = [
        ...options,
        ...(changes ? [['--wait [seconds]', 'wait while another command changes the application']] : []),
        ...(directory ? [['--dir <dir>', directory]] : []),
      ]
      const heading = [
        `## app ${name}`,
        words && `\`app ${name} ${words}\``,
        wrapped(`${sentence(summary)}${alias ? ` Short: \`app ${alias}\`.` : ''}`),
      ]
      return [...heading, own.length > 0 && optionTable(own), fenced('sh', examples.join('\n'))]
    }),
  )
  const intro = 'Each command has these options. [Errors](../errors.md) lists the exit codes.'
  return joined(['# Commands', note, intro, optionTable(common), ...sections.flat()])
}

function optionTable(options) {
  return table(
    ['Option', 'Meaning'],
    options.map(([flags, text]) => [`\`${flags}\``, escaped(text)]),
  ).trimEnd()
}

function manifestPage() {
  const rows = Object.entries(Manifest.properties).map(([key, schema]) => [
    `\`${key}\``,
    Manifest.required.includes(key) ? 'yes' : '',
    describeSchema(schema).replace('as in the documentation', 'any value'),
    escaped(schema.description),
  ])
  const intro = wrapped(
    'The manifest is the key `mortise` in the `package.json` of a module. `app module-manifest` writes it from the code. A key that is not in this table is refused.',
  )
  const schema = wrapped(
    '`@mortise/module-sdk/manifest.schema.json` is the JSON Schema for editors and other tools.',
  )
  return joined([
    '# The manifest',
    note,
    intro,
    table(['Key', 'Required', 'Type', 'Meaning'], rows).trimEnd(),
    schema,
  ])
}

/** The settings are one table, whose first column begins with `$schema`. */
function settingsTable(page) {
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

function sdkPage() {
  const entry = fileURLToPath(new URL('../packages/module-sdk/dist/index.d.ts', import.meta.url))
  const program = ts.createProgram([entry], { module: ts.ModuleKind.NodeNext, skipLibCheck: true })
  const checker = program.getTypeChecker()
  const exported = checker
    .getExportsOfModule(checker.getSymbolAtLocation(program.getSourceFile(entry)))
    .map((symbol) => (symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol))
    .sort((a, b) => (a.name < b.name ? -1 : 1))
  const isValue = ({ flags }) => (flags & ts.SymbolFlags.Value) !== 0
  const sections = (symbols) =>
    symbols.flatMap((symbol) => [`### \`${symbol.name}\``, ...declared(symbol, checker)])
  return joined([
    '# The SDK',
    note,
    wrapped(
      '`@mortise/module-sdk` is what a module imports. [Writing a module](../writing-a-module.md) explains the parts in order.',
    ),
    '## Values',
    ...sections(exported.filter(isValue)),
    '## Types',
    ...sections(exported.filter((symbol) => !isValue(symbol))),
  ])
}

/** The doc comment of an export, and its declaration without it. */
function declared(symbol, checker) {
  const text = ts.displayPartsToString(symbol.getDocumentationComment(checker))
  const throws = symbol
    .getJsDocTags(checker)
    .filter(({ name }) => name === 'throws')
    .map(({ text }) => `Throws ${ts.displayPartsToString(text).replace(/^\{(\w+)\}/, '`$1`:')}`)
  const code = symbol.declarations.map((declaration) => {
    const whole = ts.isVariableDeclaration(declaration) ? declaration.parent.parent : declaration
    return whole
      .getText()
      .replace(/^(export )?(declare )?/, '')
      .replaceAll('import("@sinclair/typebox").', '')
      .replace(/^ +#private;\n/m, '')
  })
  const prose = [text, ...throws].map((part) => part.split(/\n\n+/).map(wrapped).join('\n\n'))
  return [...prose.filter(Boolean), fenced('ts', code.join('\n'))]
}

function sentence(text) {
  return `${text[0].toUpperCase()}${text.slice(1)}.`
}

/** One paragraph, in lines of at most 100 characters. A list keeps its lines, and indented code becomes a block. */
function wrapped(text) {
  if (/^- /m.test(text)) return text
  if (/^ {4}/.test(text)) return fenced(/^ +CREATE /.test(text) ? 'sql' : 'ts', text.replace(/^ {4}/gm, ''))
  const lines = ['']
  for (const word of text.split(/\s+/)) {
    const longer = `${lines.at(-1)} ${word}`.trimStart()
    if (longer.length > 100) lines.push(word)
    else lines[lines.length - 1] = longer
  }
  return lines.join('\n')
}

function fenced(language, text) {
  return `\`\`\`${language}\n${text}\n\`\`\``
}

function joined(parts) {
  return `${parts.filter(Boolean).join('\n\n')}\n`
}
