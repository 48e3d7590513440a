// `npm start`: an application folder with both modules, made once through the real command, and its host.
import { spawn } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { text } from 'node:stream/consumers'
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
  console.log('Making the application .app-demo with api-cart and api-purchase …')
  await run('init', folder)
  const settings = { ...JSON.parse(readFileSync(config, 'utf8')), name: 'Mortise demo' }
  writeFileSync(config, `${JSON.stringify(settings, null, 2)}\n`)
}
await run('module-install', 'api-cart', 'api-purchase', '--dir', folder)
const { child: host, code } = begin(
  ['inherit', 'pipe', 'inherit'],
  'start',
  '--dir',
  folder,
  ...process.argv.slice(2),
)
let said = ''
host.stdout.setEncoding('utf8').on('data', (chunk) => {
  process.stdout.write(chunk)
  if (said === undefined) return
  said += chunk
  const [, url] = /^Serving (\S+)[\s\S]*^Try: .*\n/m.exec(said) ?? []
  if (url === undefined) return
  said = undefined
  console.log(furtherThings(url))
})
process.exitCode = await code

function furtherThings(url) {
  return `Put tea into the cart of a guest:
  curl -i ${url}/cart/item -H 'content-type: application/json' -d '{"product": "tea", "quantity": 2}'
Give products names, prices and stock, with a third module and 50 samples, while the host runs:
  node_modules/.bin/app module-install api-product --dir .app-demo
  node docs/examples/catalogue/load.js ${url} "$(node_modules/.bin/app token root --scope product:manage --dir .app-demo)"`
}

/** Runs a command of `app`. What it says is of interest when it fails: a plan has fifty lines. */
async function run(...args) {
  const { child, code } = begin(['ignore', 'ignore', 'pipe'], ...args)
  const [reported, exitCode] = await Promise.all([text(child.stderr), code])
  if (exitCode === 0 && !stopping) return
  process.stderr.write(reported)
  process.exit(exitCode || 1)
}

function stop(signal) {
  stopping = true
  running?.kill(signal)
}

/** Starts a command of `app`; `code` resolves to its exit code. */
function begin(stdio, ...args) {
  const child = spawn(app, args, { stdio })
  running = child
  const code = new Promise((resolve, reject) => {
    child.once('error', reject).once('exit', (code) => resolve(code ?? 1))
  })
  return { child, code }
}
