import { deepEqual } from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'acorn'
import { simple } from 'acorn-walk'
import t from 'tap'

const root = join(import.meta.dirname, '..', '..')
const { strip } = await import(new URL('../../.dev/strip-types.js', import.meta.url).href)
const { references } = JSON.parse(readFileSync(join(root, 'tsconfig.json'), 'utf8'))

t.test('what npm start builds without a compiler imports what the compiled code imports', async (t) => {
  for (const { path } of references as { path: string }[]) {
    const sources = globSync('**/*.ts', { cwd: join(root, path, 'src') })
    t.ok(sources.length > 0, path)
    for (const name of sources) {
      const compiled = readFileSync(join(root, path, 'dist', name.replace(/\.ts$/, '.js')), 'utf8')
      const stripped = strip(readFileSync(join(root, path, 'src', name), 'utf8'))
      deepEqual(importsOf(stripped), importsOf(compiled), `${path}/src/${name}`)
    }
  }
})

t.test('a path that is complete only when it is imported is one of a compiled file, too', async (t) => {
  // biome-ignore lint/suspicious/noTemplateCurlyInString: it is the source of one
  t.equal(strip('await import(`./${name}.ts`)'), 'await import(`./${name}.js`)')
})

function importsOf(code: string): unknown[] {
  const found: unknown[] = []
  const note = ({ source }: { source?: unknown }) => {
    if (source && typeof source === 'object' && 'value' in source) found.push(source.value)
  }
  simple(parse(code, { ecmaVersion: 'latest', sourceType: 'module' }), {
    ImportDeclaration: note,
    ExportNamedDeclaration: note,
    ExportAllDeclaration: note,
    ImportExpression: note,
  })
  return found
}
