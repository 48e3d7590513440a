// `npm test`: the tests, storage and modules on both engines. `npm test -- cart service`: the files whose path has
// both words, or is one of them. On a PostgreSQL of its own where a file asks for one, unless APP_TEST_DATABASE_URL
// names one; each test has a schema of its own there. What a file says is in .tap/test-results.
// Not run by tap's own command: what that loads into each process costs more than most files themselves.
import { spawn } from 'node:child_process'
import {
  chmodSync,
  closeSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  statfsSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { chooseTests, needPackages, needPostgres } from './choose-tests.js'
import { packAll } from './pack.js'

const SECONDS_PER_FILE = 300
const MEMORY = '/dev/shm'
const ENOUGH_MEMORY = 4 * 2 ** 30
// For two cores: the longest files, which begin first, mostly wait for a child or a timer.
const FILES_AT_ONCE = 6

const root = fileURLToPath(new URL('..', import.meta.url))
const runTest = join(root, '.dev', 'run-test.js')
const files = chooseTests(root, process.argv.slice(2))
if (files.length === 0) {
  console.error('No test file has a path with all of these words.')
  process.exit(1)
}
const begun = Date.now()
// Tests make and remove many thousands of files, PostgreSQL most of them.
const folder = folderInMemory()
if (folder !== undefined) process.env.TMPDIR = folder
const { APP_TEST_DATABASE_URL: given } = process.env
const postgres = given || !needPostgres(root, files) ? undefined : await startPostgres()
const packages = needPackages(root, files) ? packedOnce() : undefined
const running = new Set()
let stopped = false
// Ctrl+C reaches the tests as well: their end is waited for.
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => stop(signal))
const failures = []
const record = join(root, 'node_modules', '.cache', 'test-seconds.json')
const seconds = secondsBefore()
try {
  const waiting = longestFirst()
  await Promise.all(Array.from({ length: FILES_AT_ONCE }, () => runAll(waiting)))
} finally {
  await postgres?.stop()
  if (packages !== undefined) rmSync(packages, { recursive: true, force: true })
  if (folder !== undefined) rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
}
mkdirSync(dirname(record), { recursive: true })
writeFileSync(record, JSON.stringify(seconds))
for (const { file, text } of failures) console.log(`\n# Failed: ${file}\n${text}`)
const all = Math.round((Date.now() - begun) / 1000)
console.log(`\n${files.length} files, ${failures.length} failed, ${all} s${stopped ? ', stopped' : ''}`)
process.exitCode = failures.length > 0 || stopped ? 1 : 0

async function startPostgres() {
  const server = await import('../packages/storage/test/postgres/start-postgres.ts')
  return await server.startPostgres({ durable: false })
}

/** The packages as they would be published, for all files that ask for them: npm takes seconds to pack them. */
function packedOnce() {
  const folder = mkdtempSync(join(tmpdir(), 'mortise-packages-'))
  packAll(folder)
  return folder
}

/** For the temporary files of a run and tap's fixtures, where a disk in memory is large enough; gone after it. */
function folderInMemory() {
  try {
    const { bavail, bsize } = statfsSync(MEMORY)
    if (bavail * bsize < ENOUGH_MEMORY) return undefined
    const folder = mkdtempSync(join(MEMORY, 'mortise-test-'))
    // PostgreSQL may run as another user.
    chmodSync(folder, 0o711)
    // A packed host finds its dependencies as if it were below the checkout.
    symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
    return folder
  } catch {
    return undefined
  }
}

/** How long each file took when it last ran. */
function secondsBefore() {
  try {
    return JSON.parse(readFileSync(record, 'utf8'))
  } catch {
    return {}
  }
}

/** So that none is left to run alone at the end. One that has never run may be long. */
function longestFirst() {
  const last = (file) => seconds[file] ?? SECONDS_PER_FILE
  return files.toSorted((one, other) => last(other) - last(one))
}

/** Runs one file after the other, as long as some are waiting. */
async function runAll(waiting) {
  for (let file = waiting.shift(); file !== undefined && !stopped; file = waiting.shift()) {
    const begun = performance.now()
    const text = await run(file)
    if (text !== undefined) failures.push({ file, text })
    seconds[file] = Number(((performance.now() - begun) / 1000).toFixed(1))
    console.log(`${text === undefined ? 'ok    ' : 'failed'} ${file} (${seconds[file].toFixed(1)} s)`)
  }
}

/** Resolves to what failed in the file; undefined where nothing did. */
async function run(file) {
  const results = join(root, '.tap', 'test-results', `${file}.tap`)
  mkdirSync(dirname(results), { recursive: true })
  // A file, since a pipe would wait for what the test has left running.
  const output = openSync(results, 'w')
  const child = spawn(process.execPath, [runTest, file], {
    cwd: root,
    stdio: ['ignore', output, output],
    env: {
      // What 300 processes compile is compiled once.
      NODE_COMPILE_CACHE: join(root, 'node_modules/.cache/compiled'),
      TAP_TIMEOUT: `${SECONDS_PER_FILE}`,
      ...process.env,
      ...(folder !== undefined && { TAP_CWD: folder }),
      ...(postgres && { APP_TEST_DATABASE_URL: postgres.url }),
      ...(packages && { MORTISE_PACKAGES: packages }),
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
