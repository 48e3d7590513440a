// Makes a checkout ready to run: installs and builds what is missing. Runs on any Node, before anything is
// installed; what it installs brings the Node that everything else runs on.
import { spawnSync } from 'node:child_process'
import { existsSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const inRoot = (...path) => join(root, ...path)
const timeOf = (file) => (existsSync(file) ? statSync(file).mtimeMs : 0)

if (timeOf(inRoot('node_modules', '.package-lock.json')) < timeOf(inRoot('package-lock.json'))) {
  console.error('Installing what the lock file names (once) …')
  run('npm', ['ci', '--ignore-scripts=false', '--loglevel=error', '--no-audit', '--no-fund'])
} else {
  run(inRoot('node_modules', '.bin', 'node'), [inRoot('node_modules', 'typescript', 'bin', 'tsc'), '-b'])
}

function run(command, args) {
  const { status, error } = spawnSync(command, args, { cwd: root, stdio: ['ignore', 2, 2], shell: process.platform === 'win32' })
  if (error) throw error
  if (status !== 0) process.exit(status ?? 1)
}
