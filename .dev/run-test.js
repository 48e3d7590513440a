// Runs test files in this process, one after the other, and says of each when it has ended.
import { registerHooks } from 'node:module'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'

const url = new URL('test-domain.js', import.meta.url).href
const hooks = registerHooks({
  resolve: (name, context, next) =>
    name === 'async-hook-domain' ? { url, format: 'module', shortCircuit: true } : next(name, context),
})
const [, ...files] = process.argv.splice(1)
const root = process.cwd()
const environment = { ...process.env }
const teardowns = []
let setLimit
for (const file of files) {
  for (const name of Object.keys(process.env)) if (!(name in environment)) delete process.env[name]
  Object.assign(process.env, environment)
  // tap leaves it for the folder of its fixtures.
  process.chdir(root)
  // tap calls its folder of fixtures after the path from its working directory.
  process.argv[1] = resolve(process.env.TAP_CWD ?? '', file)
  const { default: t } = await import('tap')
  hooks.deregister()
  // With a teardown of its own tap ends as soon as nothing runs: before the next file.
  t.teardown = (work) => teardowns.push(work)
  // One that a file sets would hold for those that follow, too.
  setLimit ??= t.setTimeout.bind(t)
  setLimit(Number(process.env.TAP_TIMEOUT) * 1000)
  t.setTimeout = () => {}
  const begun = performance.now()
  await import(pathToFileURL(resolve(file)).href)
  await t.test('the tests of this file have ended', async () => {})
  t.pass(`${file} took ${((performance.now() - begun) / 1000).toFixed(1)} s`)
}
for (const work of teardowns.reverse()) await work()
