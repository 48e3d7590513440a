// `npm test`: the tests, storage and modules on both engines. `npm test -- cart service`: the files whose path has
// both words, or is one of them. On a PostgreSQL of its own where a file asks for one, unless APP_TEST_DATABASE_URL
// names one; each test has a schema of its own there. What a file says is in .tap/test-results.
// Not run by tap's own command: what that loads into each process costs more than most files themselves.
import { spawn } from 'node:child_process'
import { closeSync, mkdirSync, openSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { chooseTests, needPostgres } from './choose-tests.js'

const SECONDS_PER_FILE = 300
// For two cores: half of the files wait, for a child, a timer or the database.
const FILES_AT_ONCE = 4

const root = fileURLToPath(new URL('..', import.meta.url))
const files = chooseTests(root, process.argv.slice(2))
if (files.length === 0) {
  console.error('No test file has a path with all of these words.')
  process.exit(1)
}
const begun = Date.now()
const { APP_TEST_DATABASE_URL: given } = process.env
const postgres = given || !needPostgres(root, files) ? undefined : await startPostgres()
const running = new Set()
let stopped = false
// Ctrl+C reaches the tests as well: their end is waited for.
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => stop(signal))
const failures = []
try {
  const waiting = [...files]
  await Promise.all(Array.from({ length: FILES_AT_ONCE }, () => runAll(waiting)))
} finally {
  await postgres?.stop()
}
for (const { file, text } of failures) console.log(`\n# Failed: ${file}\n${text}`)
const seconds = Math.round((Date.now() - begun) / 1000)
console.log(`\n${files.length} files, ${failures.length} failed, ${seconds} s${stopped ? ', stopped' : ''}`)
process.exitCode = failures.length > 0 || stopped ? 1 : 0

async function startPostgres() {
  const server = await import('../packages/storage/test/postgres/start-postgres.ts')
  return await server.startPostgres({ durable: false })
}

/** Runs one file after the other, as long as some are waiting. */
async function runAll(waiting) {
  for (let file = waiting.shift(); file !== undefined && !stopped; file = waiting.shift()) {
    const begun = performance.now()
    const text = await run(file)
    if (text !== undefined) failures.push({ file, text })
    const seconds = ((performance.now() - begun) / 1000).toFixed(1)
    console.log(`${text === undefined ? 'ok    ' : 'failed'} ${file} (${seconds} s)`)
  }
}

/** Resolves to what failed in the file; undefined where nothing did. */
async function run(file) {
  const results = join(root, '.tap', 'test-results', `${file}.tap`)
  mkdirSync(dirname(results), { recursive: true })
  // A file, since a pipe would wait for what the test has left running.
  const output = openSync(results, 'w')
  const child = spawn(process.execPath, [file], {
    cwd: root,
    stdio: ['ignore', output, output],
    env: {
      // What 300 processes compile is compiled once.
      NODE_COMPILE_CACHE: join(root, 'node_modules/.cache/compiled'),
      TAP_TIMEOUT: `${SECONDS_PER_FILE}`,
      ...process.env,
      ...(postgres && { APP_TEST_DATABASE_URL: postgres.url }),
    },
    // For the one that does not come to tap's own.
    timeout: (SECONDS_PER_FILE + 30) * 1000,
    killSignal: 'SIGKILL',
  })
  closeSync(output)
  running.add(child)
  const end = await new Promise((resolve) => {
    child.once('error', resolve).once('exit', (code, signal) => resolve(code ?? signal))
  })
  running.delete(child)
  const text = readFileSync(results, 'utf8')
  // One that ends before its tests do has no plan.
  return end === 0 && /^1\.\.\d+/m.test(text) ? undefined : `${failuresIn(text)}\n# It ended with ${end}.`
}

/** What a reader wants of ten thousand lines; all of them where no assertion failed. */
function failuresIn(text) {
  const found = text.match(/^ *not ok .*\n(?: *---\n[\s\S]*?^ *\.\.\.\n)?/gm)
  return found ? found.join('') : text
}

function stop(signal) {
  stopped = true
  for (const child of running) child.kill(signal)
}
