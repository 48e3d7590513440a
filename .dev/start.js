// `npm start`: an application folder with both modules, made once through the real command, and its host.
import { spawn, spawnSync } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const app = join(root, 'node_modules', '.bin', 'app')
const folder = join(root, '.app-demo')

const config = join(folder, 'app.config.json')
if (!existsSync(config)) {
  run('init', folder)
  const settings = { ...JSON.parse(readFileSync(config, 'utf8')), name: 'Mortise demo' }
  writeFileSync(config, `${JSON.stringify(settings, null, 2)}\n`)
}
run('module-install', 'api-cart', 'api-purchase', '--dir', folder)

const host = spawn(app, ['start', '--dir', folder, ...process.argv.slice(2)], { stdio: 'inherit' })
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => host.kill(signal))
host.once('exit', (code) => process.exit(code ?? 1))

function run(...args) {
  const { status } = spawnSync(app, args, { stdio: ['inherit', 'ignore', 'inherit'] })
  if (status !== 0) process.exit(status ?? 1)
}
