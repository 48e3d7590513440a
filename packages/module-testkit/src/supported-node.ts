import { readFileSync } from 'node:fs'
import module from 'node:module'

// Import this before the host: an older Node cannot link the host.

if (typeof module.registerHooks !== 'function') {
  const { name, engines } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'))
  throw new Error(
    `${name} runs on Node ${engines.node}, and this is ${process.versions.node}: run the tests with one of those.`,
  )
}
