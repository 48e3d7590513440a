// `npm test`: the tests, storage and modules on both engines. `npm run trials`: the others, which try the product as a
// whole for minutes. `npm test -- cart service`: the files whose path has both words; a word may also be the path of
// a file or folder. On a PostgreSQL of its own where a file asks for one, unless APP_TEST_DATABASE_URL names one; each
// test has a schema of its own there. What a process says is in .tap/test-results, by its first file.
// Not run by tap's own command: what that loads into each process costs more than most files themselves.
import { spawn } from 'node:child_process'
import { closeSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { chooseTests, groupTests, needPackages, needPostgres } from './choose-tests.js'
import { folderInMemory } from './folder-in-memory.js'
import { packAll } from './pack.js'

// Half as much again as the longest trial takes on a slow machine with two cores: a file that hangs is named after that.
const SECONDS_PER_FILE = 600
// For two cores: the longest files, which begin first, mostly wait for a child or a timer.
const PROCESSES = 6

const root = fileURLToPath(new URL('..', import.meta.url))
const runTest = join(root, '.dev', 'run-test.js')
const files = chooseTests(root, process.argv.slice(2))
if (files.length === 0) {
  console.error('No test file has a path with all of these words.')
  process.exit(1)
}
const begun = Date.now()
const running = new Set()
const failures = []
let stopped = false
// Ctrl+C reaches the tests as well: their end is waited for.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => stop(signal))
// What reads this has ended, as `head` does.
process.stdout.on('error', () => stop('SIGTERM'))
const record = join(root, 'node_modules', '.cache', 'test-seconds.json')
const seconds = secondsBefore()
// Tests make and remove many thousands of files, PostgreSQL most of them.
const folder = folderInMemory(root)
if (folder !== undefined) process.env.TMPDIR = folder
const { APP_TEST_DATABASE_URL: given } = process.env
let postgres
let packages
let broken
try {
  if (!given && needPostgres(root, files)) postgres = await startPostgres()
  if (needPackages(root, files)) packages = packedOnce()
  const waiting = longestFirst()
  await Promise.all(Array.from({ length: PROCESSES }, () => runAll(waiting)))
  mkdirSync(dirname(record), { recursive: true })
  writeFileSync(record, JSON.stringify(seconds))
} catch (error) {
  broken = error
} finally {
  await postgres?.stop().catch((error) => {
    broken ??= error
  })
  for (const made of [packages, folder]) {
    if (made !== undefined) rmSync(made, { recursive: true, force: true, maxRetries: 5 })
  }
}
for (const { file, text } of failures) console.log(`\n# Failed: ${file}\n${text}`)
console.log(conclusion())
process.exitCode = failures.length > 0 || stopped || broken !== undefined ? 1 : 0

/** The last lines: what failed, and what runs it again. */
function conclusion() {
  const all = Math.round((Date.now() - begun) / 1000)
  const counts = `\n${files.length} files, ${failures.length} failed, ${all} s${stopped ? ', stopped' : ''}`
  if (broken !== undefined && !stopped) {
    const reason = broken.message.split('\n', 2).join(' ')
    return `\n${broken.stack}\n\nThe tests could not be run: ${reason}\nAgain: npm test${words()}`
  }
  if (failures.length === 0) return counts
  const tests = failures.map(({ file, text }) => {
    const names = Array.from(text.matchAll(/^not ok \d+ - (.*?)(?: # time=.*)?$/gm), ([, name]) => name)
    return `  ${file}: ${names.join('; ') || 'it did not come to its end'}`
  })
  return [counts, ...tests, `Again: npm test -- ${failures.map(({ file }) => file).join(' ')}`].join('\n')
}

function words() {
  const given = process.argv.slice(2)
  return given.length > 0 ? ` -- ${given.join(' ')}` : ''
}

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
  const last = (group) => group.reduce((sum, file) => sum + (seconds[file] ?? SECONDS_PER_FILE), 0)
  return groupTests(root, files).toSorted((one, other) => last(other) - last(one))
}

/** Runs one group of files after the other, as long as some are waiting. */
async function runAll(waiting) {
  for (let group = waiting.shift(); group !== undefined && !stopped; group = waiting.shift()) {
    for (const { file, failure, took } of ofEach(group, await run(group))) {
      if (failure !== undefined) failures.push({ file, text: failure })
      seconds[file] = took
      console.log(`${failure === undefined ? 'ok    ' : 'failed'} ${file} (${took.toFixed(1)} s)`)
    }
  }
}

/** Runs the files in one process. Resolves to how it ended, and to what it says. */
async function run(group) {
  const results = join(root, '.tap', 'test-results', `${group[0]}.tap`)
  mkdirSync(dirname(results), { recursive: true })
  // A file, since a pipe would wait for what the test has left running.
  const output = openSync(results, 'w')
  const child = spawn(process.execPath, [runTest, ...group], {
    cwd: root,
    stdio: ['ignore', output, output],
    env: {
      // What 160 processes compile is compiled once.
      NODE_COMPILE_CACHE: join(root, 'node_modules/.cache/compiled'),
      TAP_TIMEOUT: `${SECONDS_PER_FILE}`,
      ...process.env,
      ...(folder !== undefined && { TAP_CWD: folder }),
      ...(postgres && { APP_TEST_DATABASE_URL: postgres.url }),
      ...(packages && { MORTISE_PACKAGES: packages }),
    },
    // For the one that does not come to tap's own.
    timeout: (SECONDS_PER_FILE * group.length + 30) * 1000,
    killSignal: 'SIGKILL',
  })
  closeSync(output)
  running.add(child)
  const end = await new Promise((resolve) => {
    child.once('error', resolve).once('exit', (code, signal) => resolve(code ?? signal))
  })
  running.delete(child)
  return { end, text: readFileSync(results, 'utf8') }
}

/** What failed in each file of a group, and its seconds. */
function ofEach(group, { end, text }) {
  // A file's results, its seconds, the results of the next one …; at last the plan.
  const parts = text.split(/ok \d+ - \S+\.test\.ts took (\S+) s$/m)
  const results = group.map((file, index) => {
    const [text = '', took] = parts.slice(2 * index)
    if (took === undefined)
      return {
        file,
        took: SECONDS_PER_FILE,
        failure: `${failuresIn(text)}\n# Not at its end when its process ended: ${end}`,
      }
    return { file, took: Number(took), failure: /^not ok /m.test(text) ? failuresIn(text) : undefined }
  })
  // One that ends before its tests do has no plan.
  const isWhole = end === 0 && /^1\.\.\d+/m.test(parts.at(-1))
  if (isWhole || results.some(({ failure }) => failure !== undefined)) return results
  const failure = `${failuresIn(text)}\n# After it the process of ${group.join(', ')} ended with ${end}.`
  return results.with(-1, { ...results.at(-1), failure })
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
