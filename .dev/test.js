// `npm test`: the tests, storage and modules on both engines. On a PostgreSQL of its own, unless
// APP_TEST_DATABASE_URL names one; each test has a schema of its own there.
import { spawn } from 'node:child_process'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const { APP_TEST_DATABASE_URL: given } = process.env
const begun = Date.now()
const postgres = given
  ? undefined
  : await (await import('../packages/storage/test/postgres/start-postgres.ts')).startPostgres({
      durable: false,
    })
try {
  process.exitCode = await tap(given ?? postgres.url)
} finally {
  await postgres?.stop()
}
if (process.exitCode !== 0 && !process.stdout.isTTY) repeatFailures()

function tap(url) {
  const bin = fileURLToPath(new URL('../node_modules/.bin/tap', import.meta.url))
  // What 200 processes compile is compiled once.
  const NODE_COMPILE_CACHE = fileURLToPath(new URL('../node_modules/.cache/compiled', import.meta.url))
  const child = spawn(bin, process.argv.slice(2), {
    stdio: 'inherit',
    env: { NODE_COMPILE_CACHE, ...process.env, APP_TEST_DATABASE_URL: url },
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
  const results = fileURLToPath(new URL('../.tap/test-results', import.meta.url))
  for (const file of readdirSync(results, { recursive: true }).filter((name) => name.endsWith('.tap'))) {
    if (statSync(join(results, file)).mtimeMs < begun) continue
    const failures = readFileSync(join(results, file), 'utf8').match(
      /^ *not ok .*\n(?: *---\n[\s\S]*?^ *\.\.\.\n)?/gm,
    )
    if (failures) console.log(`\n# Failed: ${file.slice(0, -'.tap'.length)}\n${failures.join('')}`)
  }
}
