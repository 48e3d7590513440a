// Makes a checkout ready: installs and builds what is missing. Runs on any Node, before anything is
// installed; what it installs brings the Node that everything else runs on. `--tests`: the test runner too.
// What is fresh is not built again: the compiler takes seconds to find that out.
import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const modules = join(root, 'node_modules')
const timeOf = (file) => (existsSync(file) ? statSync(file).mtimeMs : 0)

if (timeOf(join(modules, '.package-lock.json')) < timeOf(join(root, 'package-lock.json'))) {
  console.error('Installing what package-lock.json names, and building (half a minute, once) …')
  run('npm', 'ci', '--ignore-scripts=false', '--loglevel=error')
} else if (packages().some(isStale)) {
  run('npm', 'run', '--silent', 'build')
}

// tap compiles its plugins into its own folder, and takes up a change of .taprc at its next start only.
const tap = join(modules, '@tapjs', 'test', 'test-built', 'dist', 'esm', 'index.js')
if (process.argv.includes('--tests') && readFileSync(tap, 'utf8').includes('@tapjs/typescript')) {
  console.error('Preparing the test runner (a few seconds, once) …')
  run('npm', 'exec', '--', 'tap', 'build')
}

function packages() {
  const { references } = JSON.parse(readFileSync(join(root, 'tsconfig.json'), 'utf8'))
  return references.map(({ path }) => join(root, path))
}

/** Whether a source, or a folder of sources, has changed since the package was compiled. */
function isStale(folder) {
  const built = timeOf(join(folder, 'dist', '.tsbuildinfo'))
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
