import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'

const app = join(import.meta.dirname, '..', '..', 'node_modules', '.bin', 'app')
const env = {
  ...process.env,
  APP_LOG_LEVEL: 'silent',
  APP_SERVER_DRAIN_SECONDS: '0',
  APP_RATE_LIMIT_MAX: '0',
}

/** Makes an application with all modules in `folder`, and serves it at a port that is free; `token` is that of an admin. */
export async function serveApplication(folder) {
  await responseOf('init', folder)
  await responseOf(
    'module-install',
    'api-cart',
    'api-purchase',
    'api-product',
    'api-event',
    'api-mcp',
    '--yes',
    '--dir',
    folder,
  )
  const token = (await responseOf('token', 'newman', '--scope', 'admin', '--dir', folder)).trim()
  const host = start('inherit', 'start', '--port', '0', '--dir', folder)
  const ended = new Promise((resolve) => host.once('close', resolve))
  const serving = new Promise((resolve, reject) => {
    createInterface({ input: host.stdout }).on('line', (line) => {
      const [url] = /^Serving (\S+)/.test(line) ? line.split(' ').slice(1) : []
      if (url) resolve(url)
    })
    ended.then((code) => reject(new Error(`app start has ended with exit code ${code}`)))
  })
  const stop = () => {
    host.kill()
    return ended
  }
  return { url: await serving, token, stop }
}

function start(stderr, ...args) {
  return spawn(app, args, { env, stdio: ['ignore', 'pipe', stderr], shell: process.platform === 'win32' })
}

async function responseOf(...args) {
  const child = start('pipe', ...args)
  const ended = new Promise((resolve, reject) => child.once('error', reject).once('close', resolve))
  const [code, said, reported] = await Promise.all([ended, text(child.stdout), text(child.stderr)])
  if (code !== 0) throw new Error(`app ${args.join(' ')} has ended with exit code ${code}\n${reported}`)
  return said
}
