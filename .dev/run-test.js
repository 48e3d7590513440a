// Runs one test file in this process.
import { registerHooks } from 'node:module'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'

const url = new URL('test-domain.js', import.meta.url).href
const hooks = registerHooks({
  resolve: (name, context, next) =>
    name === 'async-hook-domain' ? { url, format: 'module', shortCircuit: true } : next(name, context),
})
process.argv.splice(1, 1)
const [, file] = process.argv
// tap calls its folder of fixtures after the path from its working directory.
process.argv[1] = resolve(process.env.TAP_CWD ?? '', file)
await import('tap')
hooks.deregister()
await import(pathToFileURL(resolve(file)).href)
