// `npm test`: the tests, storage and modules on both engines. `npm test -- cart service`: the files whose path has
// both words, or is one of them. On a PostgreSQL of its own where a file asks for one, unless APP_TEST_DATABASE_URL
// names one; each test has a schema of its own there. What begins with a hyphen is for tap.
import { spawn } from 'node:child_process'
import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { chooseTests, needPostgres } from './choose-tests.js'

const root = fileURLToPath(new URL('..', import.meta.url))
const begun = Date.now()
const args = process.argv.slice(2)
const files = chooseTests(
  root,
  args.filter((each) => !each.startsWith('-')),
)
if (files.length === 0) {
  console.error('No test file has a path with all of these words.')
  process.exit(1)
}
const { APP_TEST_DATABASE_URL: given } = process.env
const postgres = given || !needPostgres(root, files) ? undefined : await startPostgres()
try {
  process.exitCode = await tap(given ?? postgres?.url)
} finally {
  await postgres?.stop()
}
if (process.exitCode !== 0 && !process.stdout.isTTY) repeatFailures()

async function startPostgres() {
  const server = await import('../packages/storage/test/postgres/start-postgres.ts')
  return await server.startPostgres({ durable: false })
}

function tap(url) {
  const bin = join(root, 'node_modules/.bin/tap')
  // What 300 processes compile is compiled once.
  const NODE_COMPILE_CACHE = join(root, 'node_modules/.cache/compiled')
  const options = args.filter((each) => each.startsWith('-'))
  const child = spawn(bin, [...options, ...files], {
    stdio: 'inherit',
    env: { NODE_COMPILE_CACHE, ...process.env, ...(url && { APP_TEST_DATABASE_URL: url }) },
    shell: process.platform === 'win32',
  })
  // Ctrl+C reaches the tests as well: their end is waited for.
  for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => child.kill(signal))
  return new Promise((resolve, reject) => {
    child.once('error', reject).once('close', (code) => resolve(code ?? 1))
  })
}

/** In a log of ten thousand lines, what failed stands at its end as well. */
function repeatFailures() {
  for (const file of files) {
    const results = join(root, '.tap/test-results', `${file}.tap`)
    if ((statSync(results, { throwIfNoEntry: false })?.mtimeMs ?? 0) < begun) continue
    const failures = readFileSync(results, 'utf8').match(/^ *not ok .*\n(?: *---\n[\s\S]*?^ *\.\.\.\n)?/gm)
    if (failures) console.log(`\n# Failed: ${file}\n${failures.join('')}`)
  }
}
