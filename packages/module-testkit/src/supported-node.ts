import { readFileSync } from 'node:fs'
import module from 'node:module'

// To be imported before the host, which an older Node cannot even link.

if (typeof module.registerHooks !== 'function') {
  const { name, engines } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'))
  throw new Error(
    `${name} runs on Node ${engines.node}, and this is ${process.versions.node}: run the tests with one of those.`,
  )
}
