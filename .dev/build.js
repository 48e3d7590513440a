// `npm run build`: compiles all packages, the validators of the host's own schemas, and the page of the console. Where
// only what `npm start` needs is installed, there is no compiler: Node removes the types.
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { buildPage, pageIsStale } from './build-page.js'

const root = fileURLToPath(new URL('..', import.meta.url))
const compiler = fileURLToPath(new URL('../node_modules/typescript/bin/tsc', import.meta.url))

if (existsSync(compiler)) {
  const { status } = spawnSync(process.execPath, [compiler, '-b', ...process.argv.slice(2)], {
    cwd: root,
    stdio: 'inherit',
  })
  if (status !== 0) process.exit(status ?? 1)
} else await import('./strip-types.js').then(({ stripAll }) => stripAll(root))
await import('./build-validators.js')
if (pageIsStale()) await buildPage()
