// Writes the reference of the site from the code: docs/reference, which is not in the repository. Fails where a source
// lacks what a page needs.
import { mkdir, writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { describeSchema } from '@mortise/application'
import { Manifest } from '@mortise/module-sdk/host'
import ts from 'typescript'
import { commands } from '../cli/src/commands/index.ts'
import { escaped, table } from './markdown.js'

const folder = new URL('../docs/reference/', import.meta.url)
const head = '---\neditLink: false\n---'
const writers = { 'commands.md': commandsPage, 'manifest.md': manifestPage, 'sdk.md': sdkPage }

if (import.meta.main) {
  await mkdir(folder, { recursive: true })
  for (const [name, page] of await referencePages()) await writeFile(new URL(name, folder), page)
}

/** @returns {Promise<Map<string, string>>} the pages by the names of their files */
export async function referencePages() {
  const pages = Object.entries(writers).map(async ([name, write]) => [name, await write()])
  return new Map(await Promise.all(pages))
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
        wrapped(`${sentence(needed(summary, `app ${name}`))}${alias ? ` Short: \`app ${alias}\`.` : ''}`),
      ]
      return [...heading, own.length > 0 && optionTable(own), fenced('sh', examples.join('\n'))]
    }),
  )
  const intro = 'Each command has these options. [Errors](../errors.md) lists the exit codes.'
  return joined([head, '# Commands', intro, optionTable(common), ...sections.flat()])
}

function optionTable(options) {
  return table(
    ['Option', 'Meaning'],
    options.map(([flags, text]) => [`\`${flags}\``, escaped(needed(text, `option ${flags}`))]),
  ).trimEnd()
}

function manifestPage() {
  const rows = Object.entries(Manifest.properties).map(([key, schema]) => [
    `\`${key}\``,
    Manifest.required.includes(key) ? 'yes' : '',
    describeSchema(schema).replace('as in the documentation', 'any value'),
    escaped(needed(schema.description, `the key ${key} of the manifest`)),
  ])
  const intro = wrapped(
    'The manifest is the key `mortise` in the `package.json` of a module. `app module-manifest` writes it from the code. A key that is not in this table is refused.',
  )
  const schema = wrapped(
    '`@mortise/module-sdk/manifest.schema.json` is the JSON Schema for editors and other tools.',
  )
  return joined([
    head,
    '# The manifest',
    intro,
    table(['Key', 'Required', 'Type', 'Meaning'], rows).trimEnd(),
    schema,
  ])
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
    head,
    '# The SDK',
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
  needed(text, `the export ${symbol.name} of the SDK`)
  return [...prose.filter(Boolean), fenced('ts', code.join('\n'))]
}

/** What a page cannot do without. */
function needed(text, of) {
  if (!text) throw new Error(`${of} has no description, which docs/reference needs`)
  return text
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
