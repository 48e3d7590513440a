#!/usr/bin/env node
// The door: syntax that Node 14.8 parses. On a Node that Mortise does not run on, it continues on the one
// that the checkout installs (the `node` package). That second process dies with this one, whatever ends it.
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

const door = fileURLToPath(import.meta.url)
const program = join(dirname(door), 'dist', 'bin.js')
const marker = 'MORTISE_CONTINUED'
const continued = process.env[marker] === '1'
delete process.env[marker]
// Otherwise it opens Node's debugger, which runs what it is sent.
process.on('SIGUSR1', () => {})

if (!runsOn(process.versions.node)) continueOnOwnNode()
else if (!existsSync(program)) {
  fail(
    `app: this checkout is not built: ${program} does not exist.`,
    'Run "npm run build" in the checkout, then try again.',
  )
} else {
  if (continued && process.connected) {
    process.once('disconnect', () => process.kill(process.pid, 'SIGKILL'))
    process.channel.unref()
  }
  await import(pathToFileURL(program).href)
}

/** ^22.22.2 || ^24.15 || >=26, the `engines` of package.json. */
function runsOn(version) {
  const [major, minor, patch] = version.split('.').map((part) => parseInt(part, 10))
  if (major === 22) return minor > 22 || (minor === 22 && patch >= 2)
  if (major === 24) return minor >= 15
  return major >= 26
}

function continueOnOwnNode() {
  const node = continued ? undefined : ownNode()
  if (node === undefined) {
    fail(
      `app: Node ${process.versions.node} is not supported: it takes ^22.22.2 || ^24.15 || >=26.`,
      'Install a newer Node, or run "npm install" in the checkout, which brings its own.',
    )
    return
  }
  const env = Object.assign({}, process.env)
  env[marker] = '1'
  const child = spawn(node, [door].concat(process.argv.slice(2)), {
    stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
    env,
  })
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP']
  for (const signal of signals) process.on(signal, () => child.kill(signal))
  child.on('error', (error) => {
    fail(`app: ${node} cannot be started: ${error.message}`, 'Run "npm install" in the checkout.')
  })
  child.on('exit', (code, signal) => {
    if (signal === null) process.exit(code)
    for (const name of signals) process.removeAllListeners(name)
    process.kill(process.pid, signal)
  })
}

function ownNode() {
  const name = process.platform === 'win32' ? 'node.exe' : 'node'
  for (let folder = dirname(door); ; folder = dirname(folder)) {
    const candidate = join(folder, 'node_modules', 'node', 'bin', name)
    if (existsSync(candidate)) return candidate
    if (dirname(folder) === folder) return undefined
  }
}

function fail(message, hint) {
  if (process.argv.includes('--json')) {
    const error = { code: 'cannot-start', exitCode: 1, message, hint }
    process.stdout.write(`${JSON.stringify({ error })}\n`)
  } else process.stderr.write(`${message}\n${hint}\n`)
  process.exitCode = 1
}
