// Builds what runs, without a compiler and without checks: no declarations, no source maps. Lines stay where they are.
import { globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'
import { dirname, join } from 'node:path'

/** What setup.js looks at is written last: a package is built when it is there. */
const last = 'index.ts'

/** @param {string} root the checkout, each package of whose tsconfig.json it builds */
export function stripAll(root) {
  const { references } = JSON.parse(readFileSync(join(root, 'tsconfig.json'), 'utf8'))
  for (const { path } of references) {
    const [sources, built] = ['src', 'dist'].map((name) => join(root, path, name))
    const names = globSync('**/*.ts', { cwd: sources })
    for (const name of [...names.filter((name) => name !== last), last]) {
      const file = join(built, name.replace(/\.ts$/, '.js'))
      mkdirSync(dirname(file), { recursive: true })
      writeFileSync(file, strip(readFileSync(join(sources, name), 'utf8')))
    }
  }
}

/** @param {string} source TypeScript whose relative imports end in .ts, as Biome formats it */
export function strip(source) {
  return stripTypeScriptTypes(source).replace(/(\b(?:from|import)[ (]+(['`])\.[^'`]*)\.ts\2/g, '$1.js$2')
}
