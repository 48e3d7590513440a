// `npm start`: an application folder with both modules, made once through the real command, and its host.
import { spawn } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const app = join(root, 'node_modules', '.bin', 'app')
const folder = join(root, '.app-demo')

// What stops npm stops what runs here; npm that is killed says nothing.
const { ppid: npm } = process
let running
let stopping = false
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, stop)
setInterval(() => process.ppid === npm || stop('SIGTERM'), 1_000).unref()

const config = join(folder, 'app.config.json')
if (!existsSync(config)) {
  await run(['init', folder])
  const settings = { ...JSON.parse(readFileSync(config, 'utf8')), name: 'Mortise demo' }
  writeFileSync(config, `${JSON.stringify(settings, null, 2)}\n`)
}
await run(['module-install', 'api-cart', 'api-purchase', '--dir', folder])
process.exitCode = await end(['start', '--dir', folder, ...process.argv.slice(2)], 'inherit')

async function run(args) {
  const code = await end(args, 'ignore')
  if (code !== 0 || stopping) process.exit(code || 1)
}

function stop(signal) {
  stopping = true
  running?.kill(signal)
}

/** Runs a command of `app`; resolves to its exit code. */
function end(args, stdout) {
  running = spawn(app, args, { stdio: ['inherit', stdout, 'inherit'] })
  return new Promise((resolve, reject) => {
    running.once('error', reject).once('exit', (code) => resolve(code ?? 1))
  })
}
