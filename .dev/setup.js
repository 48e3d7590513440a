// Makes a checkout ready: installs and builds what is missing. Runs on any Node, before anything is installed; what it
// installs brings the Node that everything else runs on. Installs the `dependencies` of all packages, which are what
// `npm start` needs; `--all`: the `devDependencies` as well, and prepares the test runner.
// What is fresh is not built again: the compiler takes seconds to find that out.
import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { pageIsStale } from './build-page.js'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const modules = join(root, 'node_modules')
const timeOf = (file) => (existsSync(file) ? statSync(file).mtimeMs : 0)

// npm writes it when all is there.
const record = join(modules, '.package-lock.json')
const hasAll = existsSync(record) && readFileSync(record, 'utf8').includes('"node_modules/tap": {')
const wantsAll = hasAll || process.argv.includes('--all')
const which = (choice) => [`--${choice}=dev`, `--${choice}=optional`]

if (timeOf(record) < timeOf(join(root, 'package-lock.json'))) {
  const [what, omitted] = wantsAll
    ? ['all that package-lock.json names (two minutes, once)', which('include')]
    : ['what the demo application needs (half a minute, once)', which('omit')]
  console.log(`Installing ${what} …`)
  run('npm', 'ci', '--ignore-scripts=false', '--loglevel=error', ...omitted)
} else if (wantsAll && !hasAll) {
  // Leaves what is there, which a demo application may be running.
  console.log('Installing what tests need (two minutes, once) …')
  run('npm', 'install', '--no-save', '--ignore-scripts=false', '--loglevel=error', ...which('include'))
} else if (packages().some(isStale) || (hasAll && pageIsStale())) {
  run('npm', 'run', '--silent', 'build')
}

// tap compiles its plugins into its own folder, and takes up a change of .taprc at its next start only.
const tap = join(modules, '@tapjs', 'test', 'test-built', 'dist', 'esm', 'index.js')
if (process.argv.includes('--all') && readFileSync(tap, 'utf8').includes('@tapjs/typescript')) {
  console.log('Preparing the test runner (a few seconds, once) …')
  run('npm', 'exec', '--', 'tap', 'build')
}

function packages() {
  const { references } = JSON.parse(readFileSync(join(root, 'tsconfig.json'), 'utf8'))
  return references.map(({ path }) => join(root, path))
}

/** Whether a source, or a folder of sources, has changed since the package was built. */
function isStale(folder) {
  const built = timeOf(join(folder, 'dist', hasAll ? '.tsbuildinfo' : 'index.js'))
  const sources = join(folder, 'src')
  const names = ['.', ...readdirSync(sources, { recursive: true })]
  const inputs = [join(root, 'tsconfig.json'), join(folder, 'tsconfig.json'), join(folder, 'package.json')]
  return [...inputs, ...names.map((name) => join(sources, name))].some((path) => timeOf(path) > built)
}

function run(command, ...args) {
  const { status, error, stdout } = spawnSync(command, args, {
    cwd: root,
    stdio: ['ignore', 'pipe', 2],
    maxBuffer: Infinity,
    shell: process.platform === 'win32',
  })
  if (error) throw error
  if (status === 0) return
  process.stderr.write(stdout) // compilers put what is wrong there
  process.exit(status ?? 1)
}
