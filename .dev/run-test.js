// Runs one test file in this process.
import { registerHooks } from 'node:module'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'

const url = new URL('test-domain.js', import.meta.url).href
const hooks = registerHooks({
  resolve: (name, context, next) =>
    name === 'async-hook-domain' ? { url, format: 'module', shortCircuit: true } : next(name, context),
})
// As if the file had been started by itself: tap calls its folder of fixtures after it.
process.argv.splice(1, 1)
process.argv[1] = resolve(process.argv[1])
await import('tap')
hooks.deregister()
await import(pathToFileURL(process.argv[1]).href)
